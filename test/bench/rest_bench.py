#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The REST interface: requests a second over the HTTP port beside a bare responder of Boost.Beast, and over FastCGI
behind nginx beside a bare one of libfcgi, which always give the same bytes; a login beside its password's hash alone;
what requests get while hundreds of others dribble; and with a real salt-api the same requests to both.

All are asked in turns, so that what else the machine does hits all alike. CPU is that of the process that answers, for
one request. Usage: rest_bench.py BUILD [SECONDS [ROUNDS]]
"""

import contextlib
import crypt
import json
import os
import pathlib
import socket
import statistics
import sys
import tempfile
import threading
import time

from bench import BUILD, LOGIN, PING, ROUNDS, Bare, load, start_responder  # which finds `support` for all
from support import salts
from support.api import CRED, JSON, Api
from support.nginx import Nginx
from support.process import Process, free_port
from support.salt_engine import Engine
from support.salt_master import Salt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wire/salt_engine"))
from salt_api import SaltApi  # noqa: E402

LINE = "3008"
TICKS = os.sysconf("SC_CLK_TCK")


class Request:
    """What wrk sends again and again."""

    def __init__(self, method, path, headers=None, body=""):
        self.parts = method, path, body, headers or {}
        lines = [f"wrk.method = {json.dumps(method)}", f"wrk.path = {json.dumps(path)}", f"wrk.body = [==[{body}]==]"]
        lines += [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in (headers or {}).items()]
        self.script = tempfile.NamedTemporaryFile("w", suffix=".lua")
        self.script.write("\n".join(lines))
        self.script.flush()

    def reply(self, api):
        reply = api.request(*self.parts)
        assert reply.status == 200, reply
        return reply.text


def cpu(pid):
    """Seconds of processors that a process has had."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(api, pid, request, connections):
    """Requests a second, and microseconds of CPU for one."""
    used, began = cpu(pid), time.monotonic()
    rate = load(api, request.script.name, connections)[0]
    return rate, (cpu(pid) - used) / (rate * (time.monotonic() - began)) * 1e6


def in_turns(name, rivals, rounds=ROUNDS):
    """`rivals` are two functions by name, of which each measures one round; prints what the first has of the second."""
    runs = {rival: [] for rival in rivals}
    for once in rivals.values():
        once()  # warm
    for _ in range(rounds):
        for rival, once in rivals.items():
            runs[rival].append(once())
    rate, micros = ({rival: statistics.median(run[at] for run in found) for rival, found in runs.items()} for at in (0, 1))
    ours, other = rivals
    said = ", ".join(f"{rival} {rate[rival]:.0f}/s {micros[rival]:.0f} us" for rival in rivals)
    print(f"  {name:<34} {said}; ratio {rate[ours] / rate[other]:.2f}", flush=True)


def bare_http(directory, body, stack):
    port = free_port()
    rival = Process([BUILD / "bare_http", str(port), body], directory / f"bare-{port}.log", ("127.0.0.1", port))
    stack.callback(rival.stop)
    return Api("127.0.0.1", port), rival.pid


def beside_bare(ours, directory, stack):
    bare = Bare(directory / "bare")
    stack.callback(bare.stop)
    fronts = {}
    for name, address in (("ours", ours.address), ("libfcgi", bare.address)):
        fronts[name] = Nginx(directory / f"nginx-{name}", [address], "unix_keepalive.conf", http="access_log off;")
        stack.callback(fronts[name].stop)
    pid = {"ours": ours.pid, "libfcgi": bare.pid}
    token = ours.http.request("POST", "/login", json.dumps(LOGIN), JSON).ret[0]["token"]
    requests = {"GET /": Request("GET", "/"), "POST /run": Request("POST", "/run", JSON, json.dumps([{**PING, "token": token}]))}
    for name, request in requests.items():
        rival, its_pid = bare_http(directory, request.reply(ours.http), stack)
        for connections in (1, 8, 64):
            in_turns(
                f"{name}, {connections} connections",
                {
                    "ours": lambda: measure(ours.http, ours.pid, request, connections),
                    "Beast": lambda: measure(rival, its_pid, request, connections),
                },
            )
        in_turns(
            f"{name}, FastCGI",
            {front: lambda front=front: measure(fronts[front], pid[front], request, 8) for front in fronts},
        )


def beside_hash(ours):
    """A login's CPU beside that of the same hash in a loop."""
    request, salt = Request("POST", "/login", JSON, json.dumps(LOGIN)), crypt.mksalt(crypt.METHOD_SHA512)
    logins, hashes = [], []
    for _ in range(ROUNDS):
        logins.append(measure(ours.http, ours.pid, request, 2)[1])
        began = time.process_time()
        for _ in range(200):
            crypt.crypt(LOGIN["password"], salt)
        hashes.append((time.process_time() - began) / 200 * 1e6)
    login, alone = statistics.median(logins), statistics.median(hashes)
    print(f"  {'POST /login':<34} {login:.0f} us, its hash alone {alone:.0f} us; ratio {login / alone:.2f}", flush=True)


@contextlib.contextmanager
def dribbling(ours):
    """300 heads that come byte by byte, and 1,000 connections on which nothing comes."""
    peers, stop = [socket.create_connection(("127.0.0.1", ours.http.port)) for _ in range(1300)], threading.Event()

    def dribble():
        while not stop.wait(0.5):
            for peer in peers[:300]:
                with contextlib.suppress(OSError):
                    peer.sendall(b"GET /")

    thread = threading.Thread(target=dribble)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for peer in peers:
            peer.close()


def beside_rude_peers(ours):
    request = Request("GET", "/")

    def beside():
        with dribbling(ours):
            return measure(ours.http, ours.pid, request, 8)

    in_turns("GET / while 1,300 dribble", {"beside them": beside, "alone": lambda: measure(ours.http, ours.pid, request, 8)})


def beside_salt_api(directory):
    folder = salts.installed(LINE)
    with contextlib.ExitStack() as stack:
        salt = Salt(folder, directory, LINE)
        stack.callback(salt.stop)
        api = SaltApi(salt)
        stack.callback(api.stop)
        port = free_port()
        changes = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": {"port": port}, "log_level": "warning"}
        engine = Engine(salt, directory / "engine", changes)
        stack.callback(engine.stop)
        ours, theirs = Api("127.0.0.1", port), Api("127.0.0.1", api.servers["rest_cherrypy"].port)
        chunk = json.dumps([{**CRED, "client": "local", "tgt": "ms-0", "fun": "test.ping"}])
        for name, request in {
            "GET /": Request("GET", "/"),
            "POST /login": Request("POST", "/login", JSON, json.dumps(CRED)),
            "POST /run": Request("POST", "/run", JSON, chunk),
        }.items():
            request.reply(ours), request.reply(theirs)
            in_turns(
                f"{name}, salt-api {LINE}",
                {"ours": lambda: measure(ours, engine.pid, request, 4), "salt-api": lambda: (load(theirs, request.script.name, 4, 10)[0], 0)},
                rounds=1,
            )


def main():
    with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as scratch, contextlib.ExitStack() as stack:
        directory = pathlib.Path(scratch)
        own_port = {"port": free_port(), "host": "127.0.0.1", "disable_ssl": True}
        ours = start_responder(directory / "ours", rest_fcgi={"netapi": ["rest_cherrypy"]}, rest_cherrypy=own_port)
        stack.callback(ours.stop)
        ours.http = Api("127.0.0.1", own_port["port"])
        print(f"rest_cherrypy, {ROUNDS} runs each, in turns")
        beside_bare(ours, directory, stack)
        beside_hash(ours)
        beside_rude_peers(ours)
        try:
            (directory / "salt").mkdir()
            beside_salt_api(directory / "salt")
        except salts.Unavailable as reason:
            print(f"no Salt here: {reason}")


if __name__ == "__main__":
    main()
