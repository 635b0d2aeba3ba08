#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Event streams: 1,000 listeners, half of server-sent events and half of WebSockets, at 1,000 events a second, beside a
bare loop that writes the same bytes to as many sockets; ten of them read nothing, and ten vanish. The same in front of
a real master, and beside a real salt-api as far as that gets.

Ratios are of one run, in turns. CPU is that of the process that writes, for one event at one listener. Usage:
stream_bench.py BUILD; BENCH_SECONDS says for how long each fires (60 is a full run).
"""

import contextlib
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import types

from bench import BUILD, LOGIN, start_responder  # which finds `support` for all
from rest_bench import LINE, Request, SaltApi, cpu, in_turns, measure
from support import salts
from support.api import CRED, JSON, Api
from support.daemon import Daemon
from support.process import Process, free_port, wait_until
from support.salt_master import Program, master_config
from support.stream_listeners import Listeners, sample

SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
ROUNDS = 2
RATE = 1000
CROWD = {"sse": 500, "ws": 500, "deaf": 10, "vanish": 10, "rate": RATE, "seconds": SECONDS}
IDLE = {"sse": 500, "ws": 500}
STREAMS = {"max_streams": 4000, "max_streams_per_user": 4000}
OWN_PORT = {"host": "127.0.0.1", "disable_ssl": True}


def told(name, heard, micros):
    """Prints what a crowd heard."""
    share = heard["lost"] / max(heard["fired"] * heard["counted"], 1)
    text = f"{heard['counted']} heard {heard['fired'] / heard['seconds']:.0f} events/s, lost {heard['lost']} ({share:.1%}), "
    text += f"twice {heard['twice']}, out of order {heard['out_of_order']}, ended {heard['ended']} {heard['why']}"
    text += f", of {heard['deaf']} that read nothing {heard['dropped']} dropped, {heard['vanished']} vanished; " if heard["deaf"] else "; "
    text += f"median {heard['p50']:.1f} ms, 99% {heard['p99']:.1f} ms"
    text += f" (on the bus {heard['bus_p50']:.1f}, {heard['bus_p99']:.1f})" if heard["bus_p99"] else ""
    print(f"  {name:<12} {text}; {micros:.2f} us CPU an event and listener", flush=True)


def crowd(name, pids, port, token, **options):
    """Fires at a crowd; microseconds of CPU for one event at one listener."""
    with Listeners(BUILD, port, token, **{**CROWD, **options}) as listeners:
        time.sleep(1)
        used = sum(map(cpu, pids))
        heard = listeners.fire()
        micros = (sum(map(cpu, pids)) - used) / max(heard["heard"], 1) * 1e6
    told(name, heard, micros)
    return micros


def login(api, low=LOGIN):
    return api.request("POST", "/login", json.dumps(low), JSON).ret[0]["token"]


def memory(ours, token):
    """What each of a thousand idle listeners takes."""
    before = int(ours.status("VmRSS"))
    with Listeners(BUILD, ours.http.port, token, **IDLE):
        time.sleep(1)
        each = (int(ours.status("VmRSS")) - before) / 1000
    print(f"  memory: {each:.1f} kB a listener, of {before / 1024:.0f} MiB before them", flush=True)


def requests_beside(ours, token):
    request = Request("GET", "/")

    def beside():
        with Listeners(BUILD, ours.http.port, token, **IDLE):
            return measure(ours.http, ours.pid, request, 8)

    in_turns("GET / while 1,000 listen", {"beside them": beside, "alone": lambda: measure(ours.http, ours.pid, request, 8)}, 3)


def embedded(directory, stack):
    own_port = {"port": free_port(), **OWN_PORT}
    ours = start_responder(directory / "ours", rest_fcgi={"netapi": ["rest_cherrypy"], **STREAMS, "events": "everybody"}, rest_cherrypy=own_port)
    stack.callback(ours.stop)
    ours.http = Api("127.0.0.1", own_port["port"])
    token = login(ours.http)
    memory(ours, token)
    requests_beside(ours, token)
    (directory / "sample").write_bytes(sample(ours.http, token, "/hook/bench"))
    port = free_port()
    bare = Process([BUILD / "bare_streams", str(port), directory / "sample"], directory / "bare.log", ("127.0.0.1", port))
    stack.callback(bare.stop)
    micros = {"ours": [], "bare": []}
    for _ in range(ROUNDS):
        micros["ours"].append(crowd("ours", [ours.pid], own_port["port"], token, fire="/hook/bench"))
        micros["bare"].append(crowd("bare", [bare.pid], port, token, fire="/hook/bench"))
    print(f"  bare / ours, CPU = {statistics.median(micros['bare']) / statistics.median(micros['ours']):.2f}")
    print(f"  RSS {int(ours.status('VmRSS')) / 1024:.0f} MiB after it, {int(ours.status('VmHWM')) / 1024:.0f} at most", flush=True)


class Master:
    """A real master without minions, both interfaces of ours in front of it, and a real salt-api."""

    def __init__(self, folder, home, stack):
        (home / "master").mkdir(parents=True)
        self.config = master_config(home / "master", {"rest_tornado": {"websockets": True}})
        master = Program(folder, "master", self.config, home / "master")
        stack.callback(master.stop)
        master.start()
        self._bus, self._pull = (pathlib.Path(self.config["sock_dir"]) / f"master_event_{end}.ipc" for end in ("pub", "pull"))
        wait_until(self._pull.exists, "the master listens", 120)
        (home / "ours").mkdir()
        self.ports = {way: free_port() for way in ("rest_cherrypy", "rest_tornado")}
        sections = {way: {"port": port, "disable_ssl": True} for way, port in self.ports.items()}
        own = {"engine": "salt", "embedded": None, "netapi": list(self.ports), **STREAMS}
        self.ours = Daemon(home / "ours", {**self.config, **sections, "log_level": "warning", "rest_fcgi": own})
        stack.callback(self.ours.stop)
        self._salt = types.SimpleNamespace(folder=folder, home=home, config=self.config, places=())

    def salt_api(self, stack):
        api = SaltApi(self._salt)
        stack.callback(api.stop)
        return api

    def crowd(self, name, pids, port, **options):
        api = Api("127.0.0.1", port)
        wait_until(lambda: api.request("POST", "/login", json.dumps(CRED), JSON).status == 200, "the master takes logins", 60)
        token = login(api, CRED)
        if "ws_path" in options:
            options["ws_path"] = f"/all_events/{token}"
        return crowd(name, pids, port, token, pull=self._pull, bus=self._bus, **options)


def in_front_of_salt(directory, stack):
    master = Master(salts.installed(LINE), directory / "salt", stack)
    master.crowd("ours", [master.ours.pid], master.ports["rest_cherrypy"])
    print(f"the same with 100 listeners and 100 events a second beside salt-api {LINE} (rest_tornado), in turns")
    api = master.salt_api(stack)
    few = {"sse": 50, "ws": 50, "deaf": 0, "vanish": 0, "ws_path": "", "ack": 0, "rate": 100}
    for _ in range(ROUNDS):
        ours = master.crowd("ours", [master.ours.pid], master.ports["rest_tornado"], **few)
        its = master.crowd("salt-api", api.pids, api.servers["rest_tornado"].port, **few)
        print(f"  salt-api / ours, CPU = {its / ours:.1f}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as scratch, contextlib.ExitStack() as stack:
        directory = pathlib.Path(scratch)
        print(f"event streams: {CROWD['sse'] + CROWD['ws']} listeners, {RATE} events a second for {SECONDS} s")
        embedded(directory, stack)
        print(f"the same in front of a master of {LINE}")
        try:
            in_front_of_salt(directory, stack)
        except salts.Unavailable as reason:
            print(f"no Salt here: {reason}")


if __name__ == "__main__":
    main()
