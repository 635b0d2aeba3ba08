# SPDX-License-Identifier: MIT
"""Joins a Salt master as many minions at once, which answer a few functions without running anything.

Usage, with the Python of a Salt environment: `BIN/python test/simulated_minions MASTER_FILE`. Adds the keys to the
accepted ones in the master's pki_dir, prints `ready` when all have logged in and subscribed, and removes the keys on
SIGTERM. The master may start later or restart.
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
    """All simulated minions. Used by one thread."""

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
        """Returns when all minions that answer are ready. Raises Refused."""
        recv_monitor_message(self._monitor)  # the next message on the connection is the subscription
        self._published.disable_monitor()
        self._monitor.close()
        for minion in self._talking or self._ids[:1]:
            self._log_in(minion)
        self._settle()
        self._tell_start(self._ids[0])
        self._settle()

    def serve(self):
        """Answers until an exception."""
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
        """Fires minion_start, like a real minion. A worker of the master answers it, which shows that workers run."""
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
        """Ignores a message that cannot be decrypted, and repeated ones."""
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
        """Returns the description of a running job; nothing for other jobs."""
        return {"jid": jid, "pid": 1} if (minion, jid) in self._running else {}

    def _return(self, minion, ret):
        for _ in range(2 if self._options.twice else 1):
            self._send(minion, ret)

    def _send(self, minion, ret, again=True):
        def answered(reply):
            if again and reply.endswith(b"bad load"):  # the master does not know the session
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
