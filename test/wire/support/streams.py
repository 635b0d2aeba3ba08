# SPDX-License-Identifier: MIT
"""Clients of event streams. They use server-sent events and WebSockets."""

import json
import os
import socket
import struct
import time

from .api import JSON
from .process import TIMEOUT
from .rest import session

READY = "websocket client ready"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
SILENCE = 4 * TIMEOUT


def hook(api, token, path="/hook/test", **data):
    """Sends a request to a hook. The default tag of the event is salt/netapi/hook/test."""
    reply = api.request("POST", path, json.dumps(data), {**JSON, **session(token)})
    assert (reply.status, reply.json) == (200, {"success": True}), reply


def _check(end):
    """Raises TimeoutError if time.monotonic() is later than `end`."""
    if time.monotonic() > end:
        raise TimeoutError(f"the stream does not end or answer within {SILENCE} s")


class Sse:
    """A client of server-sent events. An event is {"tag": ..., "data": {...}}."""

    def __init__(self, api, token=None, path="/events", headers=None):
        self._connection = api.connection(SILENCE)
        self._connection.request("GET", path, headers={**session(token), **(headers or {})})
        self.reply = self._connection.getresponse()
        self.status = self.reply.status
        self.ids = []
        if self.status == 200:
            assert self.reply.readline() == b"retry: 400\n"

    def block(self):
        """Returns the fields of the next event, or None at the end of the stream."""
        assert self.status == 200, (self.status, self.reply.read())
        fields, end = {}, time.monotonic() + SILENCE
        while line := self.reply.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line == "\n" and "data" in fields:
                return fields
            if not line.startswith(":") and line != "\n":
                fields[name] = value
            _check(end)
        return None

    def event(self):
        fields = self.block()
        if not fields:
            return None
        event = json.loads(fields["data"])
        assert event["tag"] == fields["tag"] and list(fields)[:2] == ["tag", "data"]
        self.ids.append(fields.get("id"))
        return event

    def close(self):
        self.reply.close()
        self._connection.close()


def frame_of(payload, opcode=TEXT):
    """Returns the frame of a client. `payload` has at most 125 bytes."""
    data = payload.encode() if isinstance(payload, str) else payload
    assert len(data) < 126
    key = os.urandom(4)
    return bytes([0x80 | opcode, 0x80 | len(data)]) + key + bytes(byte ^ key[i % 4] for i, byte in enumerate(data))


class WebSocket:
    """A WebSocket connection. If `status` is not 101, `body` has the reason."""

    KEY = "s65VsgHigh7v/Jcf4nXHnA=="
    ACCEPT = "mWZjBV9FCglzn1rIKJAxrTFlnJE="

    def __init__(self, api, path, token=None, headers=None, upgrade=None):
        """Opens the WebSocket. `upgrade` replaces the headers of the handshake."""
        connection = api.connection(SILENCE)
        connection.connect()
        self._socket = connection.sock
        own = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": self.KEY}
        wanted = {"Host": f"{connection.host}:{connection.port}", **(own if upgrade is None else upgrade)}
        wanted |= {**session(token), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in wanted.items())
        self._socket.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        self._unread = b""
        first, *fields = self._until(b"\r\n\r\n").decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
        self.end = None
        if self.status == 101:
            assert self.headers["sec-websocket-accept"] == self.ACCEPT
            assert self.headers["upgrade"].lower() == "websocket" and self.headers["connection"].lower() == "upgrade"
        elif "content-length" in self.headers:
            self.body = self._take(int(self.headers["content-length"])).decode()

    def _more(self):
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise EOFError
        self._unread += piece

    def _until(self, end):
        while end not in self._unread:
            self._more()
        head, _, self._unread = self._unread.partition(end)
        return head

    def _take(self, size):
        while len(self._unread) < size:
            self._more()
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken

    def send(self, payload, opcode=TEXT):
        self._socket.sendall(frame_of(payload, opcode))

    def ready(self):
        self.send(READY)
        return self

    def frame(self):
        """Returns the opcode and the payload of the next frame. Raises EOFError."""
        first, second = self._take(2)
        assert first & 0x70 == 0 and first & 0x80 and not second & 0x80
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._take(8))
        return first & 0x0F, self._take(size)

    def text(self):
        """Returns the next text message and answers pings. Returns None after the close frame."""
        end = time.monotonic() + SILENCE
        while True:
            opcode, payload = self.frame()
            if opcode == PING:
                self.send(payload, PONG)
                _check(end)
            elif opcode == CLOSE:
                self.end = (struct.unpack(">H", payload[:2])[0] if payload else None, payload[2:].decode())
                return None
            else:
                assert opcode == TEXT, (opcode, payload)
                return payload.decode()

    def event(self):
        """Returns the next event or view, or None after the close frame."""
        text = self.text()
        while text == "server received message":
            text = self.text()
        return None if text is None else json.loads(text.removeprefix("data: "))

    def texts_until(self, part):
        """Returns the text messages up to the first message that contains `part`."""
        texts, end = [self.text()], time.monotonic() + SILENCE
        while part not in texts[-1]:
            _check(end)
            texts.append(self.text())
        return texts

    def closed(self):
        """Reads up to the close frame. Returns the code and the reason of the close frame."""
        end = time.monotonic() + SILENCE
        while self.text() is not None:
            _check(end)
        return self.end

    def silent(self, seconds=0.4):
        """Returns whether no data arrives within `seconds`."""
        self._socket.settimeout(seconds)
        try:
            self._more()
            return False
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(SILENCE)

    def close(self):
        self._socket.close()

    def vanish(self):
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def until(stream, wanted, seconds=TIMEOUT):
    """Returns the events up to the first event for which `wanted(event)` is true. Fails at the end of the stream."""
    events, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        event = stream.event()
        assert event is not None, events
        events.append(event)
        if wanted(event):
            return events
    raise AssertionError(f"waited {seconds} s in vain: {events}")


def until_end(stream, seconds=SILENCE):
    """Returns the events up to the end of the stream. Fails if the stream does not end."""
    events, end = [], time.monotonic() + seconds
    while event := stream.event():
        events.append(event)
        _check(end)
    return events


def tagged(end):
    """Returns a condition for `until` that the event's tag ends with `end`."""
    return lambda event: event["tag"].endswith(end)


def about(fun):
    """Returns a condition for `until` that the event is about the function."""
    return lambda event: event["data"].get("fun") == fun
