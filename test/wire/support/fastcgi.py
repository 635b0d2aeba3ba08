# SPDX-License-Identifier: MIT
"""A FastCGI 1.0 client that can also send malformed records."""

import struct

from .process import TIMEOUT, connect

BEGIN_REQUEST, ABORT_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT = range(1, 7)
RESPONDER = 1

POST = {
    "REQUEST_METHOD": "POST",
    "PATH_INFO": "/",
    "REQUEST_URI": "/",
    "SCRIPT_NAME": "",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "CONTENT_TYPE": "application/json",
    "REMOTE_ADDR": "127.0.0.1",
}


def record(kind, content=b"", version=1):
    """Returns a record of the request with the id 1."""
    return struct.pack(">BBHHBB", version, kind, 1, len(content), 0, 0) + content


def begin(keeps=False):
    return record(BEGIN_REQUEST, struct.pack(">HB5x", RESPONDER, keeps))


def _size(number):
    return struct.pack(">B", number) if number < 128 else struct.pack(">I", number | 0x80000000)


def pairs(variables):
    encoded = b""
    for name, value in variables.items():
        name, value = name.encode(), value.encode()
        encoded += _size(len(name)) + _size(len(value)) + name + value
    return encoded


def stream(kind, content):
    """Returns the records of a FastCGI stream. The last record is empty."""
    cut = [content[at : at + 65535] for at in range(0, len(content), 65535)]
    return b"".join(record(kind, part) for part in cut) + record(kind)


def request(body=b"", keeps=False, **variables):
    """Returns a FastCGI request. A variable with the value None is not sent. With `keeps`, the connection stays open."""
    environ = {**POST, "CONTENT_LENGTH": str(len(body)), **variables}
    environ = {name: value for name, value in environ.items() if value is not None}
    return begin(keeps) + stream(PARAMS, pairs(environ)) + stream(STDIN, body)


class Answer:
    def __init__(self, records):
        self.stdout = b"".join(content for kind, content in records if kind == STDOUT)
        self.ended = any(kind == END_REQUEST for kind, _ in records)

    @property
    def status(self):
        for line in self.stdout.split(b"\r\n\r\n")[0].split(b"\r\n"):
            if line.lower().startswith(b"status:"):
                return int(line.split()[1])
        return 200 if self.stdout else None

    @property
    def body(self):
        return self.stdout.partition(b"\r\n\r\n")[2].decode()


def _exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return None
        data += more
    return data


def receive(connection):
    records = []
    try:
        while True:
            head = _exactly(connection, 8)
            if head is None:
                break
            _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", head)
            content = _exactly(connection, size + padding)
            if content is None:
                break
            records.append((kind, content[:size]))
            if kind == END_REQUEST:
                break
    except ConnectionError:
        pass
    return Answer(records)


def send(connection, data):
    """Sends data until the peer closes the connection."""
    try:
        connection.sendall(data)
    except ConnectionError:
        pass


def talk(address, data, timeout=TIMEOUT):
    with connect(address, timeout) as connection:
        send(connection, data)
        return receive(connection)
