# SPDX-License-Identifier: MIT
"""An idle rest_fcgi: memory, time to the first answer, and pings beside slow requests."""

import contextlib
import json
import socket
import subprocess
import time

from harness import BUILD, LOGIN, PING, ROUNDS, Request, case, cpu, load, memory, status
from request_cases import behind_nginx, with_http
from support import fastcgi
from support.daemon import BINARY
from support.process import connect, wait_until

PING_BODY = json.dumps([{**LOGIN, **PING}]).encode()


@case("memory", "Memory at rest, after load, and of what is in flight")
def memory_at_rest(bench):
    ours = bench.responder()
    for name, responder in (("FastCGI", ours), ("both front ends", with_http(bench))):
        time.sleep(0.5)
        for what, value in memory(responder.pid).items():
            bench.add(f"at rest, {name}", what, [value])
    front = behind_nginx(bench, ours, "kept")
    load(front, [ours.pid], Request(body=PING_BODY.decode()), 64)
    for what, value in memory(ours.pid).items():
        bench.add("after pings on 64 connections", what, [value])
    slow = fastcgi.request(json.dumps([{**LOGIN, "client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [30], "timeout": 60}]).encode())
    before = memory(ours.pid)["anonymous"]
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(ours.address)).sendall(slow)
        time.sleep(1)
        bench.add("a request in flight", "anonymous", [(memory(ours.pid)["anonymous"] - before) / 200 * 1024], unit="KiB")


def time_to_answer(argv, address, request):
    """Returns the milliseconds from the start of a program to its first answer, and ends the program."""
    began = time.monotonic()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            with contextlib.suppress(OSError):
                fastcgi.talk(address, request)
                return (time.monotonic() - began) * 1000
            assert child.poll() is None and time.monotonic() - began < 60, argv
            time.sleep(0.0005)
    finally:
        child.kill()
        child.wait()


@case("start", "From the start of the process to the first answer, against the bare responder's start")
def start(bench):
    ours = bench.responder()
    ours.stop()
    folder = bench.folder("bare")
    request = fastcgi.request(b"", REQUEST_METHOD="GET")

    def of_ours():
        return {"time": time_to_answer([BINARY, "--config", ours.config_path, "--listen", f"unix:{ours.address}"], ours.address, request)}

    def of_bare():
        (folder / "bare.sock").unlink(missing_ok=True)
        return {"time": time_to_answer([BUILD / "bare", folder / "bare.sock", "4"], str(folder / "bare.sock"), request)}

    bench.in_turns("first answer", {"ours": of_ours, "libfcgi": of_bare}, 2 * ROUNDS, keep=("time",))


def is_idle(pid, seconds=0.5):
    used = cpu([pid])
    time.sleep(seconds)
    return cpu([pid]) - used < seconds / 50


@case("slow", "2,000 slow requests in flight while pings go on, beside pings on the idle server")
def slow(bench, crowd=2000, seconds=20):
    ours = bench.responder(
        rest_fcgi={"max_threads": crowd + 200, "embedded": {"minions": {f"ms-{n}": {} for n in range(5)}, "max_workers": crowd, "max_queued": 3 * crowd}}
    )
    front, request = behind_nginx(bench, ours, "new"), Request(body=PING_BODY.decode())
    body = json.dumps([{**LOGIN, "client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [seconds], "timeout": 60}]).encode()
    request.reply(front)
    idle = load(front, [ours.pid], request, 8)
    with contextlib.ExitStack() as stack:
        peers = []
        for _ in range(crowd):
            peers.append(stack.enter_context(connect(ours.address)))
            peers[-1].sendall(fastcgi.request(body))
        wait_until(lambda: is_idle(ours.pid), "all have begun")
        beside = load(front, [ours.pid], request, 8)
        most = status(ours.pid, "VmHWM") / 1024
        answered = 0
        for peer in peers:
            peer.settimeout(120)
            data = b""
            with contextlib.suppress(socket.timeout, ConnectionError):
                while more := peer.recv(65536):
                    data += more
            answered += b'"ms-0": true' in data
    for what in ("rate", "CPU", "99%"):
        bench.add(f"pings beside {crowd}", what, [beside[what]], [idle[what]], "alone")
    bench.add(f"pings beside {crowd}", "RSS", [most])
    bench.add(f"answered of {crowd}", "share", [answered / crowd], unit="")
