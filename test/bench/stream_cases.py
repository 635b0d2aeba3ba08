# SPDX-License-Identifier: MIT
"""The cost of an event with 1 to 1,000 listeners. Half of the listeners use server-sent events, and half use
WebSockets."""

import contextlib
import json
import selectors
import socket
import threading
import time

from harness import ROUNDS, SECONDS, case, cpu
from request_cases import token_of, with_http
from support.api import JSON
from support.process import join, wait_until
from support.streams import READY, frame_of

SIZES = (1, 100, 1000)
RATE = 50  # events a second, few enough for this program with 1,000 listeners
STREAMS = {"max_streams": 4000, "max_streams_per_user": 4000, "events": "everybody"}
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


def await_text(stream, text):
    heard = b""
    while text not in heard:
        part = stream.recv(4096)
        assert part, heard
        heard += part


def listener(port, token, web_socket):
    stream = socket.create_connection(("127.0.0.1", port), 20)
    path, more = ("/ws", UPGRADE) if web_socket else ("/events", "")
    stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {token}\r\n{more}\r\n".encode())
    await_text(stream, b"\r\n\r\n" if web_socket else b"retry: ")
    if web_socket:
        stream.sendall(frame_of(READY))
        await_text(stream, b"server received message")
    stream.setblocking(False)
    return stream


@contextlib.contextmanager
def listeners(port, token, size):
    """Opens streams and reads their bytes until the `with` block ends. Yields a list with the time of the last read."""
    over, last = threading.Event(), [0.0]
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for number in range(size):
            selector.register(stack.enter_context(listener(port, token, number % 2)), selectors.EVENT_READ)

        def read():
            while not over.is_set():
                for key, _ in selector.select(0.1):
                    last[0] = time.monotonic()
                    if not key.fileobj.recv(1 << 16):
                        return

        thread = threading.Thread(target=read)
        thread.start()
        yield last
        assert thread.is_alive(), "a stream has ended"
        over.set()
        join([thread])


def cost(ours, token, size):
    """Returns the CPU microseconds of an event with `size` listeners."""
    body, headers = json.dumps({"text": "x" * 100}), {**JSON, "X-Auth-Token": token}
    with listeners(ours.http.port, token, size) as last, contextlib.closing(ours.http.connection()) as connection:
        used, begin, count = cpu([ours.pid]), time.monotonic(), int(RATE * SECONDS)
        for number in range(count):
            time.sleep(max(0, begin + number / RATE - time.monotonic()))
            connection.request("POST", "/hook/bench", body, headers)
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (200, b'{"success": true}')
        wait_until(lambda: time.monotonic() - last[0] > 0.3, "all listeners have the last event")
        return (cpu([ours.pid]) - used) / count * 1e6


@case("listeners", "An event to 1, 100 and 1,000 listeners")
def listeners_of_an_event(bench):
    ours = with_http(bench, streams=STREAMS)
    token = token_of(ours)
    cost(ours, token, 1)  # the first call is a warm-up
    for size in SIZES:
        bench.add(size, "CPU", [cost(ours, token, size) for _ in range(min(ROUNDS, 3))])
