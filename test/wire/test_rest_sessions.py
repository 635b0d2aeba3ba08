# SPDX-License-Identifier: MIT
"""Many logins and logouts leave no memory, descriptors or files behind."""

import concurrent.futures
import contextlib
import http.client
import json
import sqlite3

import pytest

from support.api import CRED, JSON
from support.daemon import LONG, NEEDS_PTRACE, SANITIZED, merge
from support.process import TIMEOUT, wait_until
from support.rest import api_of, serving

THREADS = 4
WARM, TURNS = 1_000, 100_000 if LONG else 1_000
GROWTH = 1.05  # fragmentation of memory is not a leak


def turns(port, count):
    """Opens, uses and ends `count` sessions over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2 * TIMEOUT)

    def ask(method, path, body=None, headers=None):
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read()

    for _ in range(count):
        status, body = ask("POST", "/login", json.dumps(CRED), JSON)
        assert status == 200, body
        token = {"X-Auth-Token": json.loads(body)["return"][0]["token"]}
        assert ask("GET", "/stats", headers=token)[0] == 200
        assert ask("POST", "/logout", headers=token)[0] == 200
        assert ask("GET", "/jobs", headers=token)[0] == 401
    connection.close()


def together(port, count):
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(turns, port, count // THREADS) for _ in range(THREADS)]:
            done.result()


READERS = 4
LOG = ("rest_fcgi.log", "state.db", "state.db-wal", "state.db-shm")  # the database files keep free pages


def blocks(directory):
    """Returns the disk usage of a folder without logs and the database."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name not in LOG]
    return sum(512 * path.stat().st_blocks for path in files)


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer keeps freed memory")
@NEEDS_PTRACE
def test_salt_issue_18055_ended_sessions_leave_no_memory_and_files(start):
    changes = serving()
    threads = {"min_threads": THREADS + 2, "max_threads": THREADS + 2}
    daemon = start(merge(changes, {"log_level": "error", "rest_fcgi": threads}))
    port = api_of(changes).port
    together(port, WARM)
    memory = {field: int(daemon.status(field)) for field in ("VmRSS", "RssAnon")}
    files, disk = daemon.open_files(), blocks(daemon.directory)
    together(port, TURNS)
    wait_until(lambda: daemon.open_files() <= files + 2 * READERS, "connections are closed")
    for field, before in memory.items():
        assert int(daemon.status(field)) <= GROWTH * before, field
    with contextlib.closing(sqlite3.connect(daemon.directory / "cache/rest_fcgi/state.db")) as store:
        assert store.execute("SELECT count(*) FROM token").fetchone() == (0,)
    assert blocks(daemon.directory) <= disk + 65_536
