# SPDX-License-Identifier: MIT
"""Replies arrive whole through nginx and Apache at all buffer sizes and to slow readers."""

import contextlib
import json
import shutil
import socket
import time

import pytest

from support import apache as apaches
from support import daemon as daemons
from support.api import JSON, local
from support.nginx import Nginx
from support.process import free_port, short_directory

ONE_OF_EACH = ["nginx unix", "nginx http_tls", "apache unix", "apache http", "apache fcgid"]

MINIONS = [f"ms-{number}" for number in range(20)]
KEPT = "KeepAliveTimeout 60\n"  # all requests use one connection
CHANGES = {"rest_fcgi": {"netapi": ["rest_wsgi"], "embedded": {"minions": {minion: {} for minion in MINIONS}}}}


@pytest.fixture(scope="module", params=ONE_OF_EACH)
def api(request):
    """A running rest_fcgi behind a web server."""
    server, sample = request.param.split()
    home = short_directory()
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, home)
        if sample == "fcgid":
            front = apaches.Fcgid(home / "web", CHANGES, more=KEPT)
        else:
            port = free_port() if "http" in sample else None
            changes = daemons.merge(CHANGES, {"rest_wsgi": {"port": port}} if port else {})
            if apaches.AS_USER and server == "apache":
                changes = daemons.merge(changes, {"rest_fcgi": {"socket_group": apaches.USER}})
            daemon = daemons.Daemon(home, changes)
            cleanup.callback(daemon.stop)
            if server == "nginx":
                front = Nginx(home / "web", [daemon.address], sample, http_port=port)
            else:
                front = apaches.Proxying(home / "web", daemon, port, more=KEPT)
        cleanup.callback(front.stop)
        yield front


# Sizes of buffers in libfcgi, nginx, Apache and mod_fcgid.
LIMITS = [8192, 16384, 65528, 65536, 131072, 1 << 20, (1 << 20) + 16384]
LARGE = 9_876_543
SIZES = [limit + off for limit in LIMITS for off in (-1, 0, 1)] + [LARGE]
LETTERS = "a\u00fc\u20ac\U0001d11e"


def call_of(size):
    """Returns a body whose reply has exactly `size` bytes, and the expected return of each chunk."""
    text = LETTERS * (size // 210)  # the 20 minions return the text, and a second chunk fills the rest
    returned = [{minion: text for minion in MINIONS}, {"ms-0": ""}]
    missing = "x" * (size - len(reply_of(returned)))
    returned[1]["ms-0"] = missing
    chunks = [local("test.echo", arg=[text]), local("test.echo", tgt="ms-0", arg=[missing])]
    return json.dumps(chunks, ensure_ascii=False).encode(), returned


def reply_of(returned):
    return json.dumps({"return": returned}, ensure_ascii=False).encode()


def test_salt_issue_59272_salt_issue_23408_replies_arrive_whole_at_every_buffer_size(api):
    connection = api.connection()
    for size in SIZES:
        body, returned = call_of(size)
        connection.request("POST", "/", body, JSON)
        reply = connection.getresponse()
        data = reply.read()
        assert (reply.status, len(data)) == (200, size)
        assert reply.getheader("Content-Length") in (str(size), None) and not reply.will_close
        assert json.loads(data)["return"] == returned
    connection.close()


def test_salt_issue_33105_a_slow_reader_gets_the_whole_reply(api):
    body, returned = call_of(LARGE)
    connection = api.connection()
    connection.connect()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
    connection.request("POST", "/", body, JSON)
    reply = connection.getresponse()
    data = b""
    while part := reply.read(1 << 20):
        data += part
        time.sleep(0.2)  # all buffers between server and client fill up
    assert len(data) == LARGE and json.loads(data)["return"] == returned
    connection.close()
