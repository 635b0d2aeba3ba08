# SPDX-License-Identifier: MIT
"""Kept connections to the master's ret_port, each with one request at a time."""

import collections
import time

import zmq

TIMEOUT = 20  # seconds until a connection without an answer is closed


class Connections:
    """Sends messages over several connections, in order. Used by one thread, which polls."""

    def __init__(self, context, address, count, poller):
        self._context, self._address, self._poller = context, address, poller
        self._waiting = collections.deque()
        self._busy = {}  # socket: (make, answered, since)
        self._idle = [self._connect() for _ in range(count)]

    def __len__(self):
        """Returns the number of messages without an answer."""
        return len(self._waiting) + len(self._busy)

    def send(self, make, answered):
        """`make()` returns the message when a connection is free; `answered(reply)` receives the reply."""
        self._waiting.append((make, answered))
        self._pump()

    def receive(self, ready):
        """Reads the replies on those sockets that belong to this object."""
        for socket in ready:
            if socket in self._busy:
                _, answered, _ = self._busy.pop(socket)
                self._idle.append(socket)
                answered(socket.recv())
        self._pump()

    def renew(self):
        """Closes connections that waited too long and sends their messages again."""
        now = time.monotonic()
        for socket, (make, answered, since) in list(self._busy.items()):
            if now - since > TIMEOUT:
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
