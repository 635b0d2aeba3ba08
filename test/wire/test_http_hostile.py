# SPDX-License-Identifier: MIT
"""Requests that two HTTP servers could read in two ways (request smuggling)."""

import contextlib
import ssl

from support.process import connect
from support.rest import serving

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

AMBIGUOUS = {
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 60\r\n\r\n" + SMUGGLED, 400),
    "two equal lengths": (POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]", 400),
    "chunked beside a length": (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a length beside chunked": (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a space before a colon": (POST + b"Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 400),
    "a vertical tab": (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    "another encoding": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
    "a line feed in a value": (GET + b"X: a\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "a folded header": (GET + b"Transfer-Encoding:\r\n chunked\r\n\r\n", 400),
    "a body of GET": (GET + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED, 200),
}


def test_ambiguous_requests_are_refused_and_smuggle_nothing_through_nginx(start, front):
    """nginx shares its connections to the HTTP port between clients. Each client must get its own reply."""
    changes = serving()
    daemon, port = start(changes), changes["rest_cherrypy"]["port"]
    nginx = front(daemon, sample="http_tls", http_port=port)
    context = ssl.create_default_context(cafile=str(nginx.ca))
    for name, (data, status) in AMBIGUOUS.items():
        with connect(("127.0.0.1", port)) as connection, connection.makefile("rb") as replies:
            connection.sendall(data)
            received = replies.read()
            assert received.startswith(b"HTTP/1.1 %d " % status) and received.count(b"HTTP/1.1 ") == 1, name
        with context.wrap_socket(connect(("127.0.0.1", nginx.port)), server_hostname="localhost") as connection:
            connection.settimeout(2)
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.recv(65536)
        for _ in range(3):
            assert nginx.request("GET", "/").json["return"] == "Welcome", name
    assert "smuggled" not in daemon.log()
