# SPDX-License-Identifier: MIT
"""Joins a Salt master as many minions, which answer a few functions without running them.

Usage with the Python of a Salt environment: `BIN/python test/simulated_minions MASTER_FILE`.
Adds the keys of the minions to the accepted keys, and prints `ready` when all minions have subscribed. SIGTERM removes
the keys.
"""

import argparse
import collections
import contextlib
import fnmatch
import pathlib
import signal
import sys

import salt.config
import zmq
from identity import Identity, Refused
from zmq.utils.monitor import recv_monitor_message

CONNECTIONS = 8  # number of connections to the master


def arguments():
    parser = argparse.ArgumentParser(prog="simulated_minions", description=__doc__.partition("\n")[0])
    parser.add_argument("master_file", help="the master's configuration")
    parser.add_argument("--ids", default="sim-", metavar="PREFIX", help="how their ids begin; default: %(default)s")
    parser.add_argument("--count", type=int, default=1000, help="how many they are; default: %(default)s")
    parser.add_argument("--silent", type=int, default=0, metavar="N", help="the last N never answer")
    parser.add_argument("--size", type=int, default=0, metavar="BYTES", help="how long a text test.echo gives back")
    return parser.parse_args()


def matched(job, minions):
    """Returns the minions that match a glob or a list. Other target types match no minion, because they need minion data."""
    tgt, kind = job["tgt"], job.get("tgt_type", "glob")
    if kind == "glob":
        return [minion for minion in minions if fnmatch.fnmatchcase(minion, tgt)]
    wanted = set(tgt.split(",") if isinstance(tgt, str) else tgt) if kind == "list" else ()
    return [minion for minion in minions if minion in wanted]


class Connections:
    """Sends messages to the master's ret_port over kept connections. Each connection has one request at a time."""

    def __init__(self, context, address, poller):
        self._waiting = collections.deque()
        self._busy = {}  # maps a socket to `answered`
        self._idle = [context.socket(zmq.REQ) for _ in range(CONNECTIONS)]
        for socket in self._idle:
            socket.connect(address)
            poller.register(socket, zmq.POLLIN)

    def __len__(self):
        return len(self._waiting) + len(self._busy)

    def send(self, make, answered=lambda reply: None):
        """Sends the message from `make()` when a connection is free. `answered(reply)` receives the reply."""
        self._waiting.append((make, answered))
        self._pump()

    def receive(self, ready):
        """Reads the replies on the sockets of this object."""
        for socket in ready:
            if socket in self._busy:
                self._idle.append(socket)
                self._busy.pop(socket)(socket.recv())
        self._pump()

    def _pump(self):
        while self._idle and self._waiting:
            socket, (make, answered) = self._idle.pop(), self._waiting.popleft()
            socket.send(make())
            self._busy[socket] = answered


class Minions:
    """All simulated minions. Used by one thread."""

    def __init__(self, options, master):
        width = len(str(options.count - 1))
        self._ids = [f"{options.ids}{number:0{width}}" for number in range(options.count)]
        self._talking = self._ids[: options.count - options.silent]
        self._echo = "x" * options.size
        self._identity = Identity()
        self._keys = pathlib.Path(master["pki_dir"]) / "minions"
        self._context = zmq.Context()
        self._context.linger = 0
        self._poller = zmq.Poller()
        self._published = self._subscribe(f"tcp://{master['interface']}:{master['publish_port']}")
        self._connections = Connections(self._context, f"tcp://{master['interface']}:{master['ret_port']}", self._poller)

    def place_keys(self):
        self._keys.mkdir(parents=True, exist_ok=True)
        for minion in self._ids:
            (self._keys / minion).write_text(self._identity.public_key)

    def remove_keys(self):
        for minion in self._ids:
            with contextlib.suppress(FileNotFoundError):
                (self._keys / minion).unlink()

    def join(self):
        """Waits until all minions that answer are ready. Raises Refused."""
        recv_monitor_message(self._monitor)  # the next message on the connection is the subscription
        self._published.disable_monitor()
        self._monitor.close()
        for minion in self._talking or self._ids[:1]:
            self._connections.send(
                lambda minion=minion: self._identity.login(minion), lambda reply, minion=minion: self._identity.logged_in(minion, reply)
            )
        self._settle()
        # A worker process of the master answers this event, so an answer shows that the workers run.
        first = self._ids[0]
        event = {"cmd": "_minion_event", "pretag": None, "tag": f"salt/minion/{first}/start", "data": "started"}
        self._connections.send(lambda: self._identity.seal(first, event))
        self._settle()

    def serve(self):
        """Answers jobs until an exception."""
        while True:
            self._poll()

    def _subscribe(self, address):
        socket = self._context.socket(zmq.SUB)
        socket.set(zmq.SUBSCRIBE, b"")
        socket.set(zmq.RCVHWM, 0)
        self._monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)  # the handshake may succeed at once
        socket.connect(address)
        self._poller.register(socket, zmq.POLLIN)
        return socket

    def _settle(self):
        while self._connections:
            self._poll()

    def _poll(self):
        ready = dict(self._poller.poll(1000))
        if self._published in ready:
            self._run(self._identity.job(self._published.recv_multipart()[-1]))
        self._connections.receive(ready)

    def _run(self, job):
        ret = {"cmd": "_return", "jid": job["jid"], "fun": job["fun"], "fun_args": job.get("arg", []), "user": job.get("user", "")}
        known = {"saltutil.find_job": {}, "test.echo": self._echo, "test.ping": True}
        if job["fun"] in known:
            ret |= {"success": True, "retcode": 0, "return": known[job["fun"]]}
        else:
            ret |= {"success": False, "retcode": 1, "return": f"'{job['fun']}' is not available."}
        for minion in matched(job, self._talking):
            self._connections.send(lambda minion=minion: self._identity.seal(minion, ret))


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
