# SPDX-License-Identifier: MIT
"""Receives events of a salt-api as the manuals of Salt and of the clients show. Prints the received numbers.

usage: stream_client.py CLIENT URL PATH COUNT, with the Python of foreign_clients.py
CLIENT is pepper, websockets, websocket-client or ws4py. PATH may contain {token}."""

import asyncio
import json
import queue
import sys
import threading

import pepper
import requests
import websocket
import websockets
import ws4py.client.threadedclient

READY = "websocket client ready"
HOOKS = "/hook/of/a/client"


def fire(session, count):
    for number in range(count):
        reply = session.req(HOOKS, {"number": number})
        assert reply == {"success": True}, reply


def in_background(session, count):
    thread = threading.Thread(target=fire, args=(session, count), daemon=True)
    thread.start()
    return thread


def number_of(text):
    """Returns the number of an event that `fire` has fired, or None for another event."""
    event = json.loads(text.removeprefix("data: "))
    return event["data"]["post"]["number"] if event["tag"] == f"salt/netapi{HOOKS}" else None


def heard(texts, count):
    """Returns the numbers of the first `count` events that `fire` has fired."""
    numbers = []
    for text in texts:
        number = number_of(text)
        if number is not None:
            numbers.append(number)
        if len(numbers) == count:
            return numbers
    return numbers


def by_pepper(session, url, path, count):
    with session.req_stream(path) as stream:
        lines = stream.iter_lines(decode_unicode=True)
        assert next(lines) == "retry: 400"
        in_background(session, count)
        return heard((line for line in lines if line.startswith("data: ")), count)


def first_answer(path):
    """Returns whether the server answers the ready message on this path. Only /ws answers."""
    return path.startswith("/ws")


def answers_ping(socket, text):
    socket.ping(text)
    opcode, data = socket.recv_data(control_frame=True)
    while opcode != websocket.ABNF.OPCODE_PONG:
        opcode, data = socket.recv_data(control_frame=True)
    return data == text.encode()


def by_websocket_client(session, url, path, count):
    header = {"X-Auth-Token": session.auth["token"]}
    socket = websocket.create_connection(url.replace("http", "ws", 1) + path, header=header, timeout=60)
    socket.send(READY)
    if first_answer(path):
        assert socket.recv() == "server received message"
    assert answers_ping(socket, "did you hear that")  # the server handles frames in order
    in_background(session, count)
    numbers = heard(iter(socket.recv, None), count)
    assert answers_ping(socket, "are you there")
    socket.send_close(1000, b"bye")
    opcode, data = socket.recv_data(control_frame=True)
    assert (opcode, data[:2]) == (websocket.ABNF.OPCODE_CLOSE, b"\x03\xe8"), (opcode, data)
    socket.shutdown()
    return numbers


async def by_websockets(session, url, path, count):
    """Receives events with a client that sends pings and asks for compression."""
    headers = {"X-Auth-Token": session.auth["token"]}
    place = url.replace("http", "ws", 1) + path
    timeouts = {"open_timeout": 60, "ping_timeout": 60, "close_timeout": 60}
    async with websockets.connect(place, additional_headers=headers, ping_interval=0.2, **timeouts) as socket:
        await socket.send(READY)
        if first_answer(path):
            assert await socket.recv() == "server received message"
        await asyncio.wait_for(await socket.ping(), 60)  # the server handles frames in order
        measured = socket.latency
        while socket.latency == measured:  # each ping of the client measures the latency again
            await asyncio.sleep(0.01)
        in_background(session, count)
        numbers = []
        while len(numbers) < count:
            numbers += heard([await socket.recv()], 1)
        await asyncio.wait_for(await socket.ping(), 60)
    assert socket.close_code == 1000, socket.close_code
    return numbers


def by_ws4py(session, url, path, count):
    header = [("X-Auth-Token", session.auth["token"])]
    socket = ws4py.client.threadedclient.WebSocketClient(url.replace("http", "ws", 1) + path, headers=header)
    texts, closed = queue.SimpleQueue(), queue.SimpleQueue()
    socket.received_message = lambda message: texts.put(str(message))
    socket.closed = lambda code, reason=None: closed.put(code)
    ponged = threading.Event()
    socket.ponged = lambda pong: ponged.set()
    socket.connect()
    socket.send(READY)
    if first_answer(path):
        assert texts.get(timeout=60) == "server received message"
    socket.ping("did you hear that")  # the server handles frames in order
    assert ponged.wait(60)
    in_background(session, count)
    numbers = heard(iter(lambda: texts.get(timeout=60), None), count)
    socket.close(1000, "bye")
    assert closed.get(timeout=60) == 1000
    return numbers


def main(client, url, path, count):
    session = pepper.Pepper(url)
    token = session.login("saltdev", "x", "file")["token"]
    path = path.replace("{token}", token)
    by = {"pepper": by_pepper, "websocket-client": by_websocket_client, "websockets": by_websockets, "ws4py": by_ws4py}[client]
    numbers = by(session, url, path, int(count))
    numbers = asyncio.run(numbers) if asyncio.iscoroutine(numbers) else numbers
    print(json.dumps(numbers))
    requests.post(f"{url}/logout", headers={"X-Auth-Token": token}, timeout=60)


if __name__ == "__main__":
    main(*sys.argv[1:])
