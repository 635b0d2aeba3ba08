# SPDX-License-Identifier: MIT
"""Streams of events as a caller sees them: server-sent events, and WebSockets with as little of RFC 6455 as tests need."""

import base64
import json
import os
import socket
import struct
import time

from .api import CRED, JSON
from .process import PATIENCE, connect

READY = "websocket client ready"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def login(api, cred=CRED):
    """A token."""
    reply = api.request("POST", "/login", json.dumps(cred), JSON)
    assert reply.status == 200, reply
    return reply.ret[0]["token"]


def hook(api, token, path="/hook/test", **data):
    """Fires an event of the tag salt/netapi/hook/test."""
    reply = api.request("POST", path, json.dumps(data), {**JSON, "X-Auth-Token": token})
    assert (reply.status, reply.json) == (200, {"success": True}), reply


class Sse:
    """An open stream of server-sent events."""

    def __init__(self, api, token=None, path="/events", **headers):
        self._connection = api.connection(PATIENCE)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", path, headers={**({"X-Auth-Token": token} if token else {}), **names})
        self.reply = self._connection.getresponse()
        assert self.reply.status == 200, (self.reply.status, self.reply.read())
        assert self.reply.readline() == b"retry: 400\n"

    def block(self):
        """The fields of the next event, comments left out; None at the end of the stream."""
        fields = {}
        while line := self.reply.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line == "\n" and "data" in fields:
                return fields
            if not line.startswith(":") and line != "\n":
                fields[name] = value
        return None

    def event(self):
        """The next one: {"tag": ..., "data": {...}}; None at the end."""
        fields = self.block()
        return json.loads(fields["data"]) if fields else None

    def close(self):
        self._connection.close()


class WebSocket:
    """An open WebSocket. `status` and `head` are those of a handshake that came to something else."""

    def __init__(self, api, path, token=None, **headers):
        self._socket = connect((api.host, api.port))
        names = {"Host": f"{api.host}:{api.port}", "Upgrade": "websocket", "Connection": "Upgrade"}
        names |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
        names |= {"X-Auth-Token": token} if token else {}
        names |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in names.items() if value is not None)
        self._socket.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        self._bytes = b""
        while b"\r\n\r\n" not in self._bytes:
            self._more()
        first, _, self._bytes = self._bytes.partition(b"\r\n\r\n")
        self.head = first.decode()
        self.status = int(self.head.split()[1])

    def _more(self):
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise EOFError
        self._bytes += piece

    def _take(self, size):
        while len(self._bytes) < size:
            self._more()
        taken, self._bytes = self._bytes[:size], self._bytes[size:]
        return taken

    def frame(self):
        """The next one: opcode and payload. Raises EOFError."""
        first, size = self._take(2)
        if size > 125:
            (size,) = struct.unpack(">H" if size == 126 else ">Q", self._take(2 if size == 126 else 8))
        return first & 15, self._take(size)

    def send(self, text, opcode=TEXT):
        data = text.encode() if isinstance(text, str) else text
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self._socket.sendall(bytes([0x80 | opcode]) + size + bytes(4) + data)  # masked with zeros

    def ready(self):
        """Says so; of /ws the answer is taken."""
        self.send(READY)
        return self

    def text(self):
        """The next text frame, pings answered; ("close", code, reason) at the end."""
        while True:
            opcode, data = self.frame()
            if opcode == PING:
                self.send(data, PONG)
            elif opcode == CLOSE:
                return ("close", struct.unpack(">H", data[:2])[0] if data else None, data[2:].decode())
            elif opcode == TEXT:
                return data.decode()

    def event(self):
        """The next one; what is no event, as /ws says, is passed over. A close as `text` has it."""
        while True:
            text = self.text()
            if isinstance(text, tuple):
                return text
            if text != "server received message":
                return json.loads(text.removeprefix("data: "))

    def patience(self, seconds):
        """How long it waits for a frame until it raises TimeoutError."""
        self._socket.settimeout(seconds)

    def close(self):
        self._socket.close()

    def vanish(self):
        """Goes without a word: the connection is reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def until(stream, wanted, seconds=PATIENCE):
    """The events up to the first one that is `wanted(event)`, it included. The end of the stream fails."""
    events, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        event = stream.event()
        assert isinstance(event, dict), (event, events)
        events.append(event)
        if wanted(event):
            return events
    raise AssertionError(f"waited {seconds} s in vain: {events}")
