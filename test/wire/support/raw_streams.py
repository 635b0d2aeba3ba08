# SPDX-License-Identifier: MIT
"""Streams of events byte for byte: what support/streams.py leaves out, such as handshakes that are refused and frames that are wrong."""

import dataclasses
import json
import os
import socket
import struct
import time

READY = "websocket client ready"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def headers_of(token):
    return {"X-Auth-Token": token} if token else {}


def log_in(api, user="saltdev", prefix=""):
    body = json.dumps({"username": user, "password": "x", "eauth": "auto"})
    reply = api.request("POST", f"{prefix}/login", body, {"Content-Type": "application/json"})
    assert reply.status == 200, reply
    return reply.headers["x-auth-token"]


@dataclasses.dataclass
class Event:
    id: str
    tag: str
    data: dict


class Sse:
    """A reader of `/events`."""

    def __init__(self, api, token, path="/events", headers=None, timeout=20):
        self.connection = api.connection(timeout)
        self.connection.request("GET", path, headers={**headers_of(token), **(headers or {})})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        if self.status == 200:
            assert self.response.readline() == b"retry: 400\n"

    def block(self):
        """The lines up to a blank one; none at the end."""
        lines = []
        while line := self.response.readline():
            if line == b"\n":
                return lines
            lines.append(line.decode().rstrip("\n"))
        return lines

    def event(self):
        """The next one; None at the end."""
        while lines := self.block():
            fields = dict(line.split(": ", 1) for line in lines)
            if "data" not in fields:
                continue
            event = json.loads(fields["data"])
            assert event["tag"] == fields["tag"] and list(fields)[-2:] == ["tag", "data"]
            return Event(fields.get("id"), event["tag"], event["data"])
        return None

    def until(self, last):
        """Events up to one whose tag ends with that."""
        events = []
        while event := self.event():
            events.append(event)
            if event.tag.endswith(last):
                return events
        raise AssertionError(f"no {last} among {events}")

    def about(self, fun):
        """The next one about that function."""
        return next(event for event in iter(self.event, None) if event.data.get("fun") == fun)

    def close(self):
        self.response.close()
        self.connection.close()


class WebSocket:
    """A client that sends what it is told to, and takes apart what comes."""

    KEY = "s65VsgHigh7v/Jcf4nXHnA=="
    ACCEPT = "mWZjBV9FCglzn1rIKJAxrTFlnJE="

    def __init__(self, api, path, headers=None, timeout=20, upgrade=None):
        connection = api.connection(timeout)
        connection.connect()
        self.socket = connection.sock
        own = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": self.KEY}
        wanted = {"Host": f"{connection.host}:{connection.port}", **(own if upgrade is None else upgrade), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in wanted.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        self.unread = b""
        head = self._until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        fields = [line.split(": ", 1) for line in head.split("\r\n")[1:] if line]
        self.headers = {name.lower(): value for name, value in fields}
        if self.status == 101:
            assert self.headers["sec-websocket-accept"] == self.ACCEPT
            assert self.headers["upgrade"].lower() == "websocket" and self.headers["connection"].lower() == "upgrade"
        elif "content-length" in self.headers:
            self.body = self._take(int(self.headers["content-length"])).decode()

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError
        self.unread += piece

    def _until(self, end):
        while end not in self.unread:
            self._more()
        head, _, self.unread = self.unread.partition(end)
        return head

    def _take(self, size):
        while len(self.unread) < size:
            self._more()
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken

    def send(self, payload, opcode=TEXT, fin=True, mask=True):
        data = payload.encode() if isinstance(payload, str) else payload
        head = bytes([(0x80 if fin else 0) | opcode])
        bit = 0x80 if mask else 0
        if len(data) < 126:
            head += bytes([bit | len(data)])
        elif len(data) < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", len(data))
        if mask:
            key = os.urandom(4)
            head += key
            data = bytes(byte ^ key[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(head + data)

    def frame(self):
        """Opcode and payload of the next one."""
        first, second = self._take(2)
        assert first & 0x70 == 0 and first & 0x80 and not second & 0x80
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._take(8))
        return first & 0x0F, self._take(size)

    def text(self):
        while True:
            opcode, payload = self.frame()
            if opcode != PING:
                assert opcode == TEXT, (opcode, payload)
                return payload.decode()

    def texts_until(self, part):
        """Texts up to one that has that in it."""
        texts = [self.text()]
        while part not in texts[-1]:
            texts.append(self.text())
        return texts

    def closed(self):
        """Code and reason of the close frame, whatever comes before it; then the end of the connection."""
        while True:
            opcode, payload = self.frame()
            if opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if payload else None
                return code, payload[2:].decode()

    def silent(self, seconds=0.4):
        """Does nothing come?"""
        patience = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            self._more()
            return False
        except (TimeoutError, socket.timeout):
            return True
        finally:
            self.socket.settimeout(patience)

    def close(self):
        self.socket.close()


def took(action):
    since = time.monotonic()
    action()
    return time.monotonic() - since
