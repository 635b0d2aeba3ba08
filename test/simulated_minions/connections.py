# SPDX-License-Identifier: MIT
"""Kept connections to the master's ret_port, each with one request at a time."""

import collections
import time

import zmq

PATIENCE = 20  # seconds until a connection is given up that got no answer


class Connections:
    """Sends messages over as many connections as there are, in order. For one thread, which polls."""

    def __init__(self, context, address, count, poller):
        self._context, self._address, self._poller = context, address, poller
        self._waiting = collections.deque()
        self._busy = {}  # socket: (make, answered, since)
        self._idle = [self._connect() for _ in range(count)]

    def __len__(self):
        """How many messages have had no answer yet."""
        return len(self._waiting) + len(self._busy)

    def send(self, make, answered):
        """`make()` gives the message when a connection is free for it; `answered(reply)` takes the reply to it."""
        self._waiting.append((make, answered))
        self._pump()

    def receive(self, ready):
        """Takes the replies on those of the sockets that are connections of this."""
        for socket in ready:
            if socket in self._busy:
                _, answered, _ = self._busy.pop(socket)
                self._idle.append(socket)
                answered(socket.recv())
        self._pump()

    def renew(self):
        """Gives up what waited too long, and sends it once more."""
        now = time.monotonic()
        for socket, (make, answered, since) in list(self._busy.items()):
            if now - since > PATIENCE:
                del self._busy[socket]
                self._poller.unregister(socket)
                socket.close()
                self._idle.append(self._connect())
                self._waiting.appendleft((make, answered))
        self._pump()

    def _pump(self):
        while self._idle and self._waiting:
            socket, (make, answered) = self._idle.pop(), self._waiting.popleft()
            socket.send(make())
            self._busy[socket] = (make, answered, time.monotonic())

    def _connect(self):
        socket = self._context.socket(zmq.REQ)
        socket.connect(self._address)
        self._poller.register(socket, zmq.POLLIN)
        return socket
