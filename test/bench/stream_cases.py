# SPDX-License-Identifier: MIT
"""Event streams: 1 to 1,000 listeners, half of them server-sent events and half WebSockets, at 1,000 events a second,
compared with a bare loop that writes the same bytes; the memory of a listener; and requests beside hostile clients."""

import contextlib
import json
import pathlib
import socket
import time
import types

from harness import BUILD, ROUNDS, SECONDS, Request, case, cpu, load, memory
from request_cases import token_of, with_http
from salt_api import SaltApi
from support import salts
from support.api import CRED, JSON, Api
from support.daemon import Daemon
from support.process import free_port, meanwhile, wait_until
from support.salt_master import Program, master_config
from support.stream_listeners import Listeners, sample

LINE = "3008"
SIZES = (1, 100, 1000)
RATE = 1000
STREAMS = {"max_streams": 4000, "max_streams_per_user": 4000, "events": "everybody"}


@contextlib.contextmanager
def dribbling(port):
    """Opens 300 slow heads and 1,000 silent connections."""
    peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(1300)]

    def dribble():
        for peer in peers[:300]:
            with contextlib.suppress(OSError):
                peer.sendall(b"GET /")

    try:
        with meanwhile(dribble, 0.5):
            yield
    finally:
        for peer in peers:
            peer.close()


def crowd(pids, port, token, size, **options):
    """Fires events at listeners. One in a hundred does not read, and some disconnect. Returns the CPU microseconds per
    event, the 99th percentile of the delay, and the lost share."""
    rude = size // 100
    chosen = {"sse": size - size // 2, "ws": size // 2, "deaf": rude, "vanish": rude, "rate": RATE, "seconds": max(int(SECONDS), 1), **options}
    with Listeners(BUILD, port, token, **chosen) as listeners:
        time.sleep(0.5)
        used = cpu(pids)
        heard = listeners.fire()
        used = cpu(pids) - used
    lost = heard["lost"] / max(heard["fired"] * heard["counted"], 1)
    return {"CPU": used / max(heard["heard"], 1) * size * 1e6, "99%": heard["p99"] * 1000, "lost": lost}


def streaming(bench):
    """Starts the responder with a limit for many streams. Returns a token, too."""
    ours = with_http(bench, streams=STREAMS)
    return ours, token_of(ours)


@case("listeners", "An event to 1, 100 and 1,000 listeners, against a bare loop that writes the same bytes")
def listeners(bench):
    ours, token = streaming(bench)
    event = bench.folder("sample") / "event"
    event.write_bytes(sample(ours.http, token, "/hook/bench"))
    port = free_port()
    bare = bench.program("bare_streams", port, event, address=("127.0.0.1", port))
    for size in SIZES:
        rivals = {
            "ours": lambda: crowd([ours.pid], ours.http.port, token, size, fire="/hook/bench"),
            "bare loop": lambda: crowd([bare.pid], port, token, size, fire="/hook/bench"),
        }
        bench.in_turns(size, rivals, rounds=min(ROUNDS, 3), keep=("CPU", "99%"))


@case("listener", "What an idle listener takes, and requests beside 1,000 of them")
def listener(bench):
    ours, token = streaming(bench)
    request, before = Request("GET"), memory(ours.pid)["anonymous"]
    idle = {"sse": 500, "ws": 500}
    with Listeners(BUILD, ours.http.port, token, **idle):
        time.sleep(1)
        bench.add("each of 1,000", "anonymous", [(memory(ours.pid)["anonymous"] - before) / 1000 * 1024], unit="KiB")

    def beside():
        with Listeners(BUILD, ours.http.port, token, **idle):
            return load(ours.http, [ours.pid], request, 8)

    bench.in_turns("GET /, 8", {"beside them": beside, "alone": lambda: load(ours.http, [ours.pid], request, 8)}, rounds=min(ROUNDS, 3))


class Master:
    """A real master without minions, a responder with both interfaces, and a real salt-api."""

    def __init__(self, bench):
        folder, home = salts.installed(LINE), bench.folder("salt")
        (home / "master").mkdir()
        self.config = master_config(home / "master", {"rest_tornado": {"websockets": True}})
        master = bench.ends(Program(folder, "master", self.config, home / "master"))
        master.start()
        self._bus, self._pull = (pathlib.Path(self.config["sock_dir"]) / f"master_event_{end}.ipc" for end in ("pub", "pull"))
        wait_until(self._pull.exists, "the master listens", 120)
        (home / "ours").mkdir()
        self.ports = {way: free_port() for way in ("rest_cherrypy", "rest_tornado")}
        sections = {way: {"port": port, "disable_ssl": True} for way, port in self.ports.items()}
        own = {"engine": "salt", "embedded": None, "netapi": list(self.ports), **STREAMS}
        self.ours = bench.ends(Daemon(home / "ours", {**self.config, **sections, "log_level": "warning", "rest_fcgi": own}))
        self.salt_api = bench.ends(SaltApi(types.SimpleNamespace(folder=folder, home=home, config=self.config, places=())))

    def crowd(self, pids, port, size, **options):
        api = Api("127.0.0.1", port)
        wait_until(lambda: api.request("POST", "/login", json.dumps(CRED), JSON).status == 200, "the master takes logins", 60)
        token = api.request("POST", "/login", json.dumps(CRED), JSON).ret[0]["token"]
        if "ws_path" in options:
            options["ws_path"] = f"/all_events/{token}"
        return crowd(pids, port, token, size, pull=self._pull, bus=self._bus, **options)


@case("salt_events", "The events of a real master to 100 listeners at 100 events a second, against salt-api's rest_tornado")
def salt_events(bench):
    master = Master(bench)
    few = {"deaf": 0, "vanish": 0, "ws_path": "", "ack": 0, "rate": 100}
    api = master.salt_api
    rivals = {
        "ours": lambda: master.crowd([master.ours.pid], master.ports["rest_tornado"], 100, **few),
        "salt-api": lambda: master.crowd(api.pids, api.servers["rest_tornado"].port, 100, **few),
    }
    bench.in_turns("100", rivals, rounds=2, keep=("CPU", "99%"))
