# SPDX-License-Identifier: MIT
"""Replies arrive whole through nginx and Apache at all buffer sizes and to slow readers."""

import concurrent.futures
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

ONE_OF_EACH = ["nginx unix.conf", "nginx proxy_tls.conf", "apache proxy_unix.conf", "apache proxy_http.conf", "apache fcgid.conf"]

MINIONS = [f"ms-{number}" for number in range(20)]
KEPT = "KeepAliveTimeout 60\n"  # all requests use one connection
CHANGES = {"rest_fcgi": {"netapi": ["rest_wsgi"], "embedded": {"minions": {minion: {} for minion in MINIONS}}}}


@contextlib.contextmanager
def front_of(name):
    """Starts a responder and a web server. Yields the Api and the path of the API."""
    server, sample = name.split()
    home = short_directory()
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, home)
        if sample == "fcgid.conf":
            front = apaches.Fcgid(home / "web", CHANGES, more=KEPT)
        else:
            port = free_port() if sample.startswith(("proxy_tls", "proxy_http")) else None
            changes = daemons.merge(CHANGES, {"rest_wsgi": {"port": port}} if port else {})
            if apaches.AS_USER and server == "apache":
                changes = daemons.merge(changes, {"rest_fcgi": {"socket_group": apaches.USER}})
            daemon = daemons.Daemon(home, changes, tcp="tcp" in sample)
            cleanup.callback(daemon.stop)
            if server == "nginx":
                front = Nginx(home / "web", [daemon.address], sample, http_port=port)
            else:
                front = apaches.Proxying(home / "web", daemon, port, more=KEPT)
        cleanup.callback(front.stop)
        yield front, "/api/" if sample == "prefix.conf" else "/"


@pytest.fixture(scope="module", params=ONE_OF_EACH)
def front(request):
    with front_of(request.param) as made:
        yield made


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


def test_salt_issue_59272_salt_issue_23408_replies_arrive_whole_at_every_buffer_size(front):
    api, path = front
    connection = api.connection()
    for size in SIZES:
        body, returned = call_of(size)
        connection.request("POST", path, body, JSON)
        reply = connection.getresponse()
        data = reply.read()
        assert (reply.status, len(data)) == (200, size)
        assert reply.getheader("Content-Length") in (str(size), None) and not reply.will_close
        assert json.loads(data)["return"] == returned
    connection.close()


def test_salt_issue_55953_parallel_large_replies_are_not_mixed(front):
    api, path = front

    def echo(number):
        text = f"{number}," * 100_000
        reply = api.request(path=path, body=json.dumps([local("test.echo", tgt="ms-0", arg=[text])]), headers=JSON)
        return reply.ret == [{"ms-0": text}]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(echo, range(48)))


def test_salt_issue_33105_a_slow_reader_gets_the_whole_reply(front):
    api, path = front
    body, returned = call_of(LARGE)
    connection = api.connection()
    connection.connect()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
    connection.request("POST", path, body, JSON)
    reply = connection.getresponse()
    data = b""
    while part := reply.read(1 << 20):
        data += part
        time.sleep(0.2)  # all buffers between server and client fill up
    assert len(data) == LARGE and json.loads(data)["return"] == returned
    connection.close()


def answer_to_a_long_job(api):
    connection = api.connection(timeout=180)
    connection.request("POST", "/", json.dumps([local("test.sleep", tgt="ms-0", arg=[65])]), JSON)
    reply = connection.getresponse()
    return reply.status, reply.read()


@pytest.mark.skipif(not daemons.LONG, reason="takes a minute; test_lessons.py compares the timeouts of the samples")
def test_fcgid_io_timeout_a_job_may_exceed_the_default_timeouts_of_web_servers():
    """The default timeout is 40 s for mod_fcgid, and 60 s for nginx and other modules of Apache."""
    with contextlib.ExitStack() as cleanup, concurrent.futures.ThreadPoolExecutor(len(ONE_OF_EACH)) as pool:
        apis = [cleanup.enter_context(front_of(name))[0] for name in ONE_OF_EACH]
        answers = dict(zip(ONE_OF_EACH, pool.map(answer_to_a_long_job, apis)))
    assert answers == dict.fromkeys(ONE_OF_EACH, (200, b'{"return": [{"ms-0": true}]}'))
