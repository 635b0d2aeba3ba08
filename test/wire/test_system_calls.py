# SPDX-License-Identifier: MIT
"""How many system calls a request makes, counted by strace."""

import collections
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from support import fastcgi
from support.api import CRED, local, without
from support.daemon import NEEDS_PTRACE, SANITIZED
from support.process import connect
from support.rest import serving

REQUESTS = 400
# SQLite takes 4 locks (fcntl) for a read after a commit, and 4 for the commit. Nothing reads pages from the disk.
# The checkpoint of each second makes some more calls, which count more on a slow host.
MOST = {"fcntl": 10.5, "pread64": 0.1, "pwrite64": 3.9, "sched_yield": 0, "close": 0.1, "ioctl": 0.1, "read": 1.1, "write": 2.1}

pytestmark = [
    NEEDS_PTRACE,
    pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer makes system calls, too"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing"),
]


def calls_of_workers(pid, directory, act):
    """Returns how often the threads that answer requests make each system call while `act` runs."""
    table = directory / "calls"
    threads = [task.name for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().startswith("worker-")]
    options = [option for thread in threads for option in ("-p", thread)]
    with subprocess.Popen(["strace", "-c", "-o", table, *options], stderr=subprocess.PIPE, text=True) as tracer:
        for _ in threads:
            assert "attached" in tracer.stderr.readline()
        act()
        tracer.terminate()
    counts = collections.Counter()
    for line in table.read_text().splitlines():
        if row := re.match(r" *[\d.]+ +[\d.]+ +\d+ +(\d+) (?: *\d+)? *(\w+)$", line):
            counts[row[2]] += int(row[1])
    return counts


def test_a_ping_with_a_session_makes_few_system_calls(start, directory):
    daemon = start(serving())
    ping = json.dumps(without(local("test.ping"), *CRED)).encode()
    with connect(daemon.address) as connection:

        def ask(body, path="/", **variables):
            connection.sendall(fastcgi.request(body, keeps=True, PATH_INFO=path, REQUEST_URI=path, **variables))
            answer = fastcgi.receive(connection)
            assert answer.status == 200, answer.stdout
            return json.loads(answer.body)["return"][0]

        token = ask(json.dumps(CRED).encode(), "/login")["token"]

        def ask_often():
            for _ in range(REQUESTS):
                assert ask(ping, HTTP_X_AUTH_TOKEN=token) == {"ms-0": True, "ms-1": True, "ms-2": True}

        ask_often()  # fills the page cache of SQLite
        calls = calls_of_workers(daemon.pid, directory, ask_often)
    each = {name: count / REQUESTS for name, count in calls.items()}
    assert each["fcntl"] > 1 and each["pwrite64"] > 1, each
    assert {name: each[name] for name in MOST if each.get(name, 0) > MOST[name]} == {}, each
