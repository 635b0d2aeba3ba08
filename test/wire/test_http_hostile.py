# SPDX-License-Identifier: MIT
"""Clients of the HTTP port that break the protocol. Each client gets an error or a closed connection."""

import contextlib
import json
import re
import ssl
import time

import pytest
from support.api import Api, local
from support.daemon import NEEDS_PTRACE, SANITIZED
from support.nginx import certificate
from support.process import TIMEOUT, answers, connect, free_port, meanwhile, wait_until
from support.rest import login

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

# Each entry has the bytes to send and the expected statuses. KEPT means that the server does not close the connection.
KEPT = "kept"
RUDE = {
    "garbage": (bytes(range(256)) * 20, [400]),
    "nothing but line ends": (b"\r\n" * 5000 + GET + b"\r\n", [200, KEPT]),
    "TLS on a plain port": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500, [400]),
    "HTTP/0.9": (b"GET /\r\n\r\n", [400]),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [505]),
    "an unknown version": (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", [505]),
    "a head of 100 kB in one line": (GET + b"X: " + b"x" * 100_000 + b"\r\n\r\n", [431]),
    "a head of 100 kB in many": (GET + b"".join(b"X-%d: y\r\n" % at for at in range(9000)) + b"\r\n", [431]),
    "a target of 100 kB": (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", [431]),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 60\r\n\r\n" + SMUGGLED, [400]),
    "two equal lengths": (POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]", [400]),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\n[]", [400]),
    "a signed length": (POST + b"Content-Length: +2\r\n\r\n[]", [400]),
    "chunked beside a length": (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED, [400]),
    "a length beside chunked": (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, [400]),
    "chunked, hidden": (POST + b"Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, [400]),
    "chunked behind a vertical tab": (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", [400]),
    "another encoding": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", [400]),
    "a malformed chunk size": (CHUNKED + b"zz\r\n[]\r\n0\r\n\r\n", [400]),
    "a chunk's size with a sign": (CHUNKED + b"+2\r\n[]\r\n0\r\n\r\n", [400]),
    "a chunk's size in another notation": (CHUNKED + b"0x2\r\n[]\r\n0\r\n\r\n", [400]),
    "a chunk's size of 64 bits and more": (CHUNKED + b"f" * 17 + b"\r\n[]\r\n0\r\n\r\n", [400]),
    "a chunk larger than its size": (CHUNKED + b"1\r\n[]\r\n0\r\n\r\n", [400]),
    "a chunk of more than may come": (CHUNKED + b"ffffffff\r\n", [413]),
    "chunk extensions of megabytes": (CHUNKED + b"2;" + b"x" * 3_000_000, [400]),
    "trailers of megabytes": (CHUNKED + b"0\r\nX: " + b"x" * 3_000_000, [400]),
    "a length of more than may come": (POST + b"Content-Length: 99999999999\r\n\r\n", [413]),
    "a line feed in a value": (GET + b"X: a\nTransfer-Encoding: chunked\r\n\r\n", [400]),
    "a carriage return in a value": (GET + b"X: a\rb\r\n\r\n", [400]),
    "NUL in a value": (GET + b"X: a\0b\r\n\r\n", [400]),
    "NUL in a name": (GET + b"X\0: a\r\n\r\n", [400]),
    "a space before the colon": (GET + b"X : a\r\n\r\n", [400]),
    "a line feed in the target": (b"GET /a%0d%0aX:%20b HTTP/1.1\r\nHost: a\r\n\r\n", [400]),
    "a header that goes on in the next line": (GET + b"Transfer-Encoding:\r\n chunked\r\n\r\n", [400]),
    "a header that goes on behind a value": (GET + b"X: a\r\n b\r\n\r\n", [400]),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", [400]),
    "two Hosts": (GET + b"Host: b\r\n\r\n", [400]),
    "a URL as the target": (b"GET http://elsewhere/stats HTTP/1.1\r\nHost: a\r\n\r\n", [401, KEPT]),
    "a URL of another scheme": (b"GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", [400]),
    "a tunnel": (b"CONNECT a:22 HTTP/1.1\r\nHost: a\r\n\r\n", [400]),
    "an upgrade": (GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", [200, KEPT]),
    "an unknown expectation": (GET + b"Expect: 200-ok\r\n\r\n", [200, KEPT]),
    "a body that goes with GET": (GET + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED, [200, KEPT]),
    "a thousand requests at once": ((GET + b"\r\n") * 1000, [200] * 1000 + [KEPT]),
}


@pytest.fixture
def daemon(start):
    port, tls_port = free_port(), free_port()

    def starter(directory):
        certificate(directory)
        tls = {"ssl_crt": str(directory / "cert.pem"), "ssl_key": str(directory / "key.pem")}
        daemon = start(
            {
                "rest_fcgi": {"netapi": ["rest_cherrypy", "rest_tornado"], "shutdown_timeout": 1},
                "rest_cherrypy": {"port": port, "host": "127.0.0.1", "disable_ssl": True},
                "rest_tornado": {"port": tls_port, "address": "127.0.0.1", **tls},
            }
        )
        daemon.port, daemon.tls_port, daemon.api = port, tls_port, Api("127.0.0.1", port)
        wait_until(lambda: answers(("127.0.0.1", tls_port)), "the second port is open, too")
        return daemon

    return starter


def statuses(connection, expected=()):
    """Returns the status of each reply until the connection closes, or until all expected replies have arrived."""
    found = []
    with contextlib.suppress(ConnectionError), connection.makefile("rb") as replies:
        try:
            while True:
                if [*found, KEPT] == expected:
                    connection.settimeout(1)
                if not (line := replies.readline()):
                    break
                found.append(int(re.fullmatch(rb"HTTP/1\.1 (\d{3}) .*\r\n", line)[1]))
                headers = dict(iter(lambda: tuple(replies.readline().lower().rstrip().partition(b": ")[::2]), (b"", b"")))
                replies.read(int(headers.get(b"content-length", 0)))
        except TimeoutError:
            found.append(KEPT)
    return found


def is_served(api):
    began = time.monotonic()
    assert api.request("GET", "/").json["return"] == "Welcome"
    assert time.monotonic() - began < TIMEOUT / 3


def send(port, data, timeout=TIMEOUT):
    """Sends as many bytes as the server accepts. Returns the connection."""
    connection = connect(("127.0.0.1", port), timeout)
    with contextlib.suppress(ConnectionError, TimeoutError):
        connection.sendall(data)
    return connection


def test_each_malformed_request_gets_its_status_and_a_closed_connection(daemon, directory):
    daemon = daemon(directory)
    for name, (data, expected) in RUDE.items():
        with send(daemon.port, data) as connection:
            assert statuses(connection, expected) == expected, name
    assert "smuggled" not in daemon.log()
    is_served(daemon.api)


@contextlib.contextmanager
def hostile_connections(daemon):
    """Opens many connections that send slowly, send nothing, read nothing, send garbage or close at once."""
    token = login(daemon.api)
    large = json.dumps([local("test.echo", tgt="ms-0", arg=["x" * 900_000])]).encode()
    greedy = POST + b"X-Auth-Token: %s\r\nContent-Length: %d\r\n\r\n" % (token.encode(), len(large)) + large
    slow = [send(daemon.port, b"GET /") for _ in range(300)]
    others = [send(daemon.port, POST + b"Content-Length: 1000\r\n\r\n[") for _ in range(300)]
    others += [connect(("127.0.0.1", daemon.port)) for _ in range(1000)]
    others += [send(daemon.tls_port, b"\x16\x03\x01\x40\x00" + b"\x01" * 100) for _ in range(50)]
    others += [send(daemon.port, greedy) for _ in range(10)]

    def dribble():
        for connection in slow:
            with contextlib.suppress(OSError):
                connection.sendall(b"x")
        send(daemon.port, GET + b"\r\n").close()
        send(daemon.tls_port, b"\x16garbage").close()

    try:
        with meanwhile(dribble, 0.2):
            yield
    finally:
        for connection in slow + others:
            connection.close()


@NEEDS_PTRACE
def test_hostile_connections_delay_no_other_client_and_leave_no_memory(daemon, directory):
    daemon = daemon(directory)
    context = ssl.create_default_context(cafile=str(directory / "cert.pem"))

    def is_served_with_tls():
        with context.wrap_socket(connect(("127.0.0.1", daemon.tls_port)), server_hostname="localhost") as connection:
            connection.sendall(GET + b"Connection: close\r\n\r\n")
            assert statuses(connection) == [200]

    def resident():
        time.sleep(0.1)
        return int(daemon.status("VmRSS"))

    is_served_with_tls()
    first = None
    idle = daemon.open_files()
    for _ in range(2):
        with hostile_connections(daemon):
            for _ in range(20):
                is_served(daemon.api)
                is_served_with_tls()
        wait_until(lambda: daemon.open_files() <= idle + 5, "all connections are closed")
        first = first or min(resident() for _ in range(30))  # memory is lowest while the process is idle
    if not SANITIZED:
        wait_until(lambda: resident() < 1.3 * first, f"the process is about as large as it was, {first} KiB")


def test_ambiguous_requests_smuggle_nothing_through_nginx(daemon, directory, front):
    """nginx shares its connections to the HTTP port between clients. Each client must get its own reply."""
    daemon = daemon(directory)
    nginx = front(daemon, sample="proxy_tls.conf", http_port=daemon.port)
    context = ssl.create_default_context(cafile=str(nginx.ca))
    for name, (data, _) in RUDE.items():
        if len(data) > 100_000 or not (b"Content-Length" in data or b"ncoding" in data):
            continue
        with context.wrap_socket(connect(("127.0.0.1", nginx.port)), server_hostname="localhost") as connection:
            connection.settimeout(2)
            with contextlib.suppress(OSError):
                connection.sendall(data)
            with contextlib.suppress(OSError):
                connection.recv(65536)
        for _ in range(3):
            assert nginx.request("GET", "/").json["return"] == "Welcome", name
    assert "smuggled" not in daemon.log()
