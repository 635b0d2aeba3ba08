# SPDX-License-Identifier: MIT

import concurrent.futures
import hashlib
import json

import pytest
from support import fastcgi
from support.api import local
from support.daemon import SANITIZED, merge
from support.jobs import call
from support.process import TIMEOUT, sent, wait_until
from support.rest import api_of, serving


def in_parallel(count, function):
    """Calls `function` in parallel with each number from 0 to count-1. Returns the results."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, range(count)))


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer uses more memory")
def test_cve_2012_6687_two_thousand_requests_use_less_than_100_megabytes_and_are_answered(start):
    """The limit is for a program that is compiled with optimization. Pages of files do not count: the host decides which parts of
    libraries are in memory. On Debian 13 a thread takes about 2 KiB more than on Debian 12."""
    daemon = start({"rest_fcgi": {"max_threads": 2500, "shutdown_timeout": 0}})
    request = fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[600])]).encode())
    connections = [sent(daemon.address, request) for _ in range(2000)]
    # 2000 threads handle one request each, and 256 threads run jobs.
    wait_until(lambda: int(daemon.status("Threads")) >= 2256, "2000 requests are in flight", 4 * TIMEOUT)
    assert int(daemon.status("RssAnon")) < 97_600
    assert call(daemon.address, local("test.ping", tgt="ms-0")) == [{"ms-0": True}]
    # A request can be in flight before its job exists. `kill_all_jobs` ends only existing jobs, so the test waits for them.
    running = local("saltutil.running", tgt="ms-0")
    wait_until(lambda: len(call(daemon.address, running)[0]["ms-0"]) == 2000, "2000 jobs exist", 4 * TIMEOUT)
    assert call(daemon.address, local("saltutil.kill_all_jobs", tgt="ms-0"))
    for connection in connections:
        connection.settimeout(8 * TIMEOUT)
    assert [fastcgi.receive(connection).status for connection in connections] == [200] * 2000


def test_parallel_calls_keep_the_identity_of_their_users(start, front, tmp_path):
    names = [f"user{number}" for number in range(60)]
    passwords = tmp_path / "passwords"
    passwords.write_text("".join(f"{name}:{hashlib.sha256(f'of {name}'.encode()).hexdigest()}\n" for name in names))
    passwords.chmod(0o600)
    users = {name: [{f"ms-{number % 3}": ["test.*"]}] for number, name in enumerate(names)}
    file = {"^filename": str(passwords), "^filetype": "text", "^hashtype": "sha256", **users}
    # With these high limits, the login guard does not delay wrong passwords.
    many = {"tries": 1000, "address_tries": 4000}
    api = front(start({"external_auth": {"file": file}, "rest_fcgi": {"login_guard": many}}))

    def who(number):
        name, other = names[number % 60], names[(number + 7) % 60]
        good = {"eauth": "file", "username": name, "password": f"of {name}"}
        allowed = api.post(local("test.arg", tgt=f"ms-{number % 3}", **good))
        elsewhere = api.post(local("test.arg", tgt=f"ms-{(number + 1) % 3}", **good))
        stolen = api.post(local("test.arg", tgt=f"ms-{number % 3}", **{**good, "password": f"of {other}"}))
        return allowed.ret[0][f"ms-{number % 3}"]["kwargs"]["__pub_user"], elsewhere.status, stolen.status

    assert in_parallel(120, who) == [(names[number % 60], 401, 401) for number in range(120)]


def resident(daemon):
    return int(daemon.status("VmRSS"))


LARGE = {
    "application/json": b'{"username": [' + b"0," * 490_000 + b"0]}",
    "application/x-www-form-urlencoded": b"arg=0123456789&" * 65_000,
    "application/x-yaml": b"username:\n" + b"- 0123456789\n" * 75_000,
}


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer keeps freed memory")
def test_memory_of_200_large_requests_is_released_within_10_seconds(start):
    changes = serving()
    daemon = start(merge(changes, {"rest_fcgi": {"idle_thread_timeout": 600}}))
    api, kinds = api_of(changes), list(LARGE.items())

    def send(kind, body):
        return api.request("POST", "/login", body, {"Content-Type": kind}).status

    assert {send(kind, body[:14]) for kind, body in kinds} <= {400, 401}
    before = resident(daemon)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda number: send(*kinds[number % len(kinds)]), range(200))) <= {400, 401, 413}
    wait_until(lambda: resident(daemon) < before + 16_000, "memory is given back", 10)
