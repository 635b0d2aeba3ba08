# SPDX-License-Identifier: MIT
"""Event streams: 1 to 1,000 listeners, half of them server-sent events and half WebSockets, at 1,000 events a second,
compared with a bare loop that writes the same bytes."""

import time

from harness import BUILD, ROUNDS, SECONDS, case, cpu
from request_cases import token_of, with_http
from stream_listeners import Listeners, sample
from support.process import free_port

SIZES = (1, 100, 1000)
RATE = 1000
STREAMS = {"max_streams": 4000, "max_streams_per_user": 4000, "events": "everybody"}


def crowd(pids, port, token, size):
    """Fires events at listeners. Returns the CPU microseconds per event, and the 99th percentile of the delay."""
    with Listeners(BUILD, port, token, sse=size - size // 2, ws=size // 2, rate=RATE, seconds=max(int(SECONDS), 1)) as listeners:
        time.sleep(0.5)
        used = cpu(pids)
        heard = listeners.fire()
        used = cpu(pids) - used
    return {"CPU": used / max(heard["heard"], 1) * size * 1e6, "99%": heard["p99"] * 1000}


@case("listeners", "An event to 1, 100 and 1,000 listeners, against a bare loop that writes the same bytes")
def listeners(bench):
    ours = with_http(bench, streams=STREAMS)
    token = token_of(ours)
    event = bench.folder("sample") / "event"
    event.write_bytes(sample(ours.http, token, "/hook/bench"))
    port = free_port()
    bare = bench.program("bare_streams", port, event, address=("127.0.0.1", port))
    for size in SIZES:
        rivals = {
            "ours": lambda: crowd([ours.pid], ours.http.port, token, size),
            "bare loop": lambda: crowd([bare.pid], port, token, size),
        }
        bench.in_turns(size, rivals, rounds=min(ROUNDS, 3), keep=("CPU", "99%"))
