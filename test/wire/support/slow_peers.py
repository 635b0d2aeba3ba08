# SPDX-License-Identifier: MIT
"""Clients that send slowly, read slowly or disconnect. They run in a separate process until standard input ends.

Prints `ready` when all clients are connected.

usage: slow_peers.py PORT tls|plain HEADS BODIES READERS HANGING_UP CREDENTIALS"""

import contextlib
import json
import select
import socket
import ssl
import struct
import subprocess
import sys

TICK = 0.5
LARGE = 900_000
HEAD = "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
TIMEOUT = 60


def request(credentials, fun, *arg):
    chunk = {**credentials, "client": "local", "tgt": "ms-0", "fun": fun, "arg": arg}
    body = json.dumps([chunk])
    return (HEAD + f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


class Peers:
    def __init__(self, port, tls, counts, credentials):
        self._port = port
        self._tls = ssl._create_unverified_context() if tls else None
        self._greedy = request(credentials, "test.echo", "x" * LARGE)
        self._quick = request(credentials, "test.ping")
        self._hanging_up = counts.pop("hanging up")
        self._open = [(kind, self._come(kind)) for kind, count in counts.items() for _ in range(count)]

    def _connect(self, receive_buffer=None):
        made = socket.socket()
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.settimeout(TIMEOUT)
        made.connect(("127.0.0.1", self._port))
        return self._tls.wrap_socket(made, server_hostname="localhost") if self._tls else made

    def _come(self, kind):
        peer = self._connect(4096 if kind == "reader" else None)
        first = {"head": b"POST /run HTTP/1.1\r\nX: ", "reader": self._greedy}
        peer.sendall(first.get(kind, (HEAD + "Content-Length: 100000\r\n\r\n[").encode()))
        peer.setblocking(False)
        return peer

    def _hang_up(self):
        peer = self._connect()
        peer.sendall(self._quick)
        if not self._tls:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    def _step(self, kind, peer):
        """Sends or reads one piece. Returns False if the server closed the connection or answered."""
        try:
            if kind == "reader":
                return bool(peer.recv(512))
            peer.send(b"x")
            peer.recv(1)  # the byte belongs to a TLS session ticket
            return False
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except OSError:
            return False

    def await_replies(self):
        for kind, peer in self._open:
            if kind == "reader":
                peer.settimeout(TIMEOUT)
                peer.recv(1)  # the byte may belong to a TLS session ticket
                peer.setblocking(False)

    def tick(self):
        """Sends or reads one byte per client. Reconnects clients whose connection is closed."""
        for at, (kind, peer) in enumerate(self._open):
            if not self._step(kind, peer):
                peer.close()
                with contextlib.suppress(OSError):
                    self._open[at] = (kind, self._come(kind))
        for _ in range(self._hanging_up):
            with contextlib.suppress(OSError):
                self._hang_up()


@contextlib.contextmanager
def slow_clients(port, credentials, tls=False, heads=220, bodies=220, readers=50, hanging_up=10):
    words = [port, "tls" if tls else "plain", heads, bodies, readers, hanging_up, json.dumps(credentials)]
    argv = [sys.executable, __file__, *map(str, words)]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert select.select([child.stdout], [], [], 4 * TIMEOUT)[0] and child.stdout.readline() == b"ready\n", "not all clients connected"
        yield
        assert child.poll() is None, "the clients ended early"
    finally:
        child.stdin.close()
        child.wait(TIMEOUT)
        child.stdout.close()


def main():
    port, tls, *counts, credentials = sys.argv[1:]
    names = ("head", "body", "reader", "hanging up")
    peers = Peers(int(port), tls == "tls", dict(zip(names, map(int, counts))), json.loads(credentials))
    peers.await_replies()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], TICK)[0]:
        peers.tick()


if __name__ == "__main__":
    main()
