# SPDX-License-Identifier: MIT
"""Requests to /ws of rest_cherrypy, to compare the responder with a real salt-api."""

import contextlib
import dataclasses
import typing

from support.rest import session
from support.streams import BINARY, CLOSE, PING, WebSocket

GOOD = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": WebSocket.KEY}
SAID = ("sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions")
BYE = b"\x03\xe8bye"


@dataclasses.dataclass
class Case:
    name: str
    ask: typing.Callable  # `ask(api, token)` returns the comparable result
    ours: object = ()


def handshake(path="/ws", way=session, **changes):
    """Returns a function that opens a WebSocket and returns its status and headers."""

    def ask(api, token):
        headers = GOOD | {name.replace("_", "-"): value for name, value in changes.items()}
        headers = {name: value for name, value in headers.items() if value is not None}
        socket = WebSocket(api, path.replace("TOKEN", token), headers=way(token), upgrade=headers)
        said = [socket.headers.get(name) for name in SAID] if socket.status == 101 else []
        socket.close()
        return socket.status, *said

    return ask


def messages(*frames):
    """Returns a function that sends frames and a close frame, and returns the answered frames and the close code."""

    def ask(api, token):
        socket, answers = WebSocket(api, "/ws", token), []
        with contextlib.suppress(EOFError, OSError):
            for frame in frames:
                socket.send(**frame)
            socket.send(BYE, CLOSE)
        with contextlib.suppress(EOFError, OSError):
            while not answers or answers[-1][0] != CLOSE:
                opcode, payload = socket.frame()
                answers.append((opcode, payload if opcode != CLOSE else int.from_bytes(payload[:2], "big")))
        socket.close()
        return answers

    return ask


def logout(api, token):
    """Returns the close code after a logout, or None if the WebSocket stays open."""
    socket = WebSocket(api, "/ws", token)
    assert api.request("POST", "/logout", headers=session(token)).status == 200
    socket.set_timeout(15)
    with contextlib.suppress(TimeoutError):
        return socket.closed()[0]
    return None


def cookie(token):
    return {"Cookie": f"session_id={token}"}


def nobody(_):
    return {}


CASES = [
    Case("GET /ws", handshake()),
    Case("GET /ws, a cookie", handshake(way=cookie)),
    Case("GET /ws/TOKEN", handshake("/ws/TOKEN", nobody)),
    Case("GET /ws?format_events", handshake("/ws?format_events")),
    Case("GET /ws, protocols and extensions", handshake(Sec_WebSocket_Protocol="chat", Sec_WebSocket_Extensions="permessage-deflate")),
    Case("GET /ws, without a token", handshake(way=nobody)),
    Case("GET /ws, an unknown token", handshake(f"/ws/{'ab' * 20}", nobody)),
    Case("GET /ws, version 8", handshake(Sec_WebSocket_Version="8"), (426,)),
    Case("GET /ws, version 12", handshake(Sec_WebSocket_Version="12"), (426,)),
    Case("GET /ws, no handshake", handshake(Upgrade=None, Connection=None), (426,)),
    Case("GET /ws, without a key", handshake(Sec_WebSocket_Key=None), (400,)),
    Case("GET /ws, a short key", handshake(Sec_WebSocket_Key="QUJD"), (400,)),
    Case("GET /ws?token=TOKEN", handshake("/ws?token=TOKEN", nobody), (400,)),
    Case("GET /ws, a cookie and another origin", handshake(way=cookie, Origin="https://elsewhere.example.org"), (403,)),
    Case("a text at /ws", messages({"payload": "hello"})),
    Case("a binary message at /ws", messages({"payload": b"hello", "opcode": BINARY})),
    Case("a ping at /ws", messages({"payload": b"ping", "opcode": PING})),
    Case("a text in parts at /ws", messages({"payload": "hel", "fin": False}, {"payload": "lo", "opcode": 0})),
    Case("a close at /ws", messages()),
    Case("a frame without a mask at /ws", messages({"payload": "x", "mask": False})),
    Case("a text that is no UTF-8 at /ws", messages({"payload": b"\xff"})),
    Case("a frame of an unknown kind at /ws", messages({"payload": b"", "opcode": 3})),
    Case("a binary message that is no UTF-8 at /ws", messages({"payload": b"\xff", "opcode": BINARY}), [(CLOSE, 1003)]),
    Case("a logout while /ws is open", logout, 4401),
]
for case in CASES:
    case.name = f"rest_cherrypy: {case.name}"
