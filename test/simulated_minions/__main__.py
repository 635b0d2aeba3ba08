# SPDX-License-Identifier: MIT
"""Joins a Salt master as many minions at once, which answer a few functions without ever running anything.

For the Python of an environment that has Salt, of any line: `BIN/python test/simulated_minions MASTER_FILE`. Puts their
keys among the accepted ones of the master's pki_dir, says `ready` on standard output when all are logged in and hear
what is published, and takes the keys away again on SIGTERM. The master may start later, and may start again meanwhile.
"""

import argparse
import contextlib
import heapq
import itertools
import pathlib
import signal
import sys
import time

import salt.config
import zmq
from connections import Connections
from identity import Identity, Refused
from jobs import Functions, matched
from zmq.utils.monitor import recv_monitor_message


def arguments():
    parser = argparse.ArgumentParser(prog="simulated_minions", description=__doc__.partition("\n")[0])
    parser.add_argument("master_file", help="the master's configuration")
    parser.add_argument("--ids", default="sim-", metavar="PREFIX", help="how their ids begin; default: %(default)s")
    parser.add_argument("--count", type=int, default=1000, help="how many they are; default: %(default)s")
    parser.add_argument("--silent", type=int, default=0, metavar="N", help="the last N never answer")
    parser.add_argument("--delay", type=float, default=0, metavar="SECONDS", help="how long a job takes them")
    parser.add_argument("--twice", action="store_true", help="they return everything twice")
    parser.add_argument("--size", type=int, default=0, metavar="BYTES", help="how long a text test.echo gives back")
    parser.add_argument("--connections", type=int, default=8, metavar="N", help="to the master; default: %(default)s")
    return parser.parse_args()


class Minions:
    """All of them. For one thread."""

    def __init__(self, options, master):
        width = len(str(options.count - 1))
        self._ids = [f"{options.ids}{number:0{width}}" for number in range(options.count)]
        self._talking = self._ids[: options.count - options.silent]
        self._options = options
        self._identity = Identity()
        self._functions = Functions(options.size)
        self._keys = pathlib.Path(master["pki_dir"]) / "minions"
        self._context = zmq.Context()
        self._context.linger = 0
        self._poller = zmq.Poller()
        self._published = self._subscribe(f"tcp://{master['interface']}:{master['publish_port']}")
        self._connections = Connections(
            self._context, f"tcp://{master['interface']}:{master['ret_port']}", options.connections, self._poller
        )
        self._later = []  # a heap of (due, order, minion, return)
        self._order = itertools.count()
        self._running = set()  # (minion, jid)

    def place_keys(self):
        self._keys.mkdir(parents=True, exist_ok=True)
        for minion in self._ids:
            (self._keys / minion).write_text(self._identity.public_key)

    def remove_keys(self):
        for minion in self._ids:
            with contextlib.suppress(FileNotFoundError):
                (self._keys / minion).unlink()

    def join(self):
        """Comes back when all that answer at all can. Raises Refused."""
        recv_monitor_message(self._monitor)  # what is sent over the connection next is the subscription
        self._published.disable_monitor()
        self._monitor.close()
        for minion in self._talking or self._ids[:1]:
            self._log_in(minion)
        self._settle()
        self._tell_start(self._ids[0])
        self._settle()

    def serve(self):
        """Answers until something is raised."""
        while True:
            self._poll()

    def _subscribe(self, address):
        socket = self._context.socket(zmq.SUB)
        socket.set(zmq.SUBSCRIBE, b"")
        socket.set(zmq.RCVHWM, 0)
        socket.set(zmq.RECONNECT_IVL, 100)
        self._monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)  # it may succeed at once
        socket.connect(address)
        self._poller.register(socket, zmq.POLLIN)
        return socket

    def _settle(self):
        while self._connections:
            self._poll()

    def _tell_start(self, minion):
        """As each real one does when it is there. The answer comes of a worker of the master, which a login's need not,
        so then there are some."""
        event = {"cmd": "_minion_event", "pretag": None, "tag": f"salt/minion/{minion}/start", "data": "started"}
        self._connections.send(lambda: self._identity.seal(minion, event), lambda reply: None)

    def _poll(self):
        wait = max(0, self._later[0][0] - time.monotonic()) if self._later else 1
        ready = dict(self._poller.poll(min(wait, 1) * 1000))
        if self._published in ready:
            self._hear(self._published.recv_multipart()[-1])
        self._connections.receive(ready)
        self._connections.renew()
        while self._later and self._later[0][0] <= time.monotonic():
            _, _, minion, ret = heapq.heappop(self._later)
            self._running.discard((minion, ret["jid"]))
            self._return(minion, ret)

    def _hear(self, payload):
        job = self._identity.job(payload)
        if job is None:  # the master has a new key
            self._log_in(self._ids[0], then=lambda: self._start(self._identity.job(payload)))
        else:
            self._start(job)

    def _start(self, job):
        """Nothing, for what is still not understood, or was heard twice."""
        if not job:
            return
        ret, due = self._functions.run(job), time.monotonic() + self._options.delay
        for minion in matched(job, self._talking):
            if job["fun"] == "saltutil.find_job":
                self._return(minion, {**ret, "return": self._find(minion, job["arg"][0])})
            elif self._options.delay:
                self._running.add((minion, job["jid"]))
                heapq.heappush(self._later, (due, next(self._order), minion, ret))
            else:
                self._return(minion, ret)

    def _find(self, minion, jid):
        """What a minion knows of a job that it runs; nothing of others."""
        return {"jid": jid, "pid": 1} if (minion, jid) in self._running else {}

    def _return(self, minion, ret):
        for _ in range(2 if self._options.twice else 1):
            self._send(minion, ret)

    def _send(self, minion, ret, again=True):
        def answered(reply):
            if again and reply.endswith(b"bad load"):  # the master knows of no such session
                self._log_in(minion, then=lambda: self._send(minion, ret, again=False))

        self._connections.send(lambda: self._identity.seal(minion, ret), answered)

    def _log_in(self, minion, then=lambda: None):
        def answered(reply):
            self._identity.logged_in(minion, reply)
            then()

        self._connections.send(lambda: self._identity.login(minion), answered)


def main():
    options = arguments()
    minions = Minions(options, salt.config.master_config(options.master_file))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        minions.place_keys()
        minions.join()
        print("ready", flush=True)
        minions.serve()
    except Refused as refused:
        sys.exit(f"the master refused {refused}")
    except KeyboardInterrupt:
        pass
    finally:
        minions.remove_keys()


if __name__ == "__main__":
    main()
