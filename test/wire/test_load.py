# SPDX-License-Identifier: MIT
"""Many requests at once, and many one after the other."""

import concurrent.futures
import json
import socket
import time

from support import fastcgi
from support.api import CRED, local
from support.daemon import NEEDS_PTRACE
from support.process import PATIENCE, connect, wait_until


def at_once(count, function):
    """What `function` gave for 0 ... count-1, all called at the same time."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, range(count)))


def timed(function):
    started = time.monotonic()
    function()
    return time.monotonic() - started


def test_slow_requests_do_not_keep_a_fast_one_waiting(daemon, front):
    api = front(daemon)

    def ping():
        api.run(local("test.ping", tgt="ms-0"))

    alone = sorted(timed(ping) for _ in range(20))[10]
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        slow = [pool.submit(api.run, local("test.sleep", tgt="ms-0", arg=[8])) for _ in range(200)]
        wait_until(lambda: int(daemon.status("Threads")) >= 200, "200 requests are in flight")
        crowded = sorted(timed(ping) for _ in range(20))[10]
        assert not any(request.done() for request in slow)
        assert all(request.result() == [{"ms-0": True}] for request in slow)
    assert crowded < 20 * alone + 0.25


def sent(address, data):
    """A connection on which that was sent; fails where it is not taken at once."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    connection.connect(address)
    connection.settimeout(PATIENCE)
    connection.sendall(data)
    return connection


def test_two_thousand_requests_at_once_are_all_answered(start):
    daemon = start({"rest_fcgi": {"max_threads": 2500}})
    request = fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[1])]).encode())
    connections = [sent(daemon.address, request) for _ in range(2000)]
    assert [fastcgi.receive(connection).status for connection in connections] == [200] * 2000


def test_who_comes_when_no_more_may_wait_reads_why(start):
    daemon = start({"rest_fcgi": {"max_threads": 2, "max_waiting": 0}})
    slow = fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[3])]).encode())
    quick = fastcgi.request(json.dumps([local("test.ping", tgt="ms-0")]).encode())
    working = [sent(daemon.address, slow) for _ in range(2)]
    refused = wait_until(
        lambda: (lambda answer: answer if answer.status == 503 else None)(fastcgi.talk(daemon.address, quick)),
        "both threads are busy",
    )
    assert json.loads(refused.body)["return"].startswith("All 2 threads are busy")
    assert b"Retry-After: 1\r\n" in refused.stdout
    assert [fastcgi.receive(connection).status for connection in working] == [200, 200]


def test_parallel_calls_get_their_own_answers(api):
    def echo(number):
        return api.run(local("test.echo", tgt=f"ms-{number % 3}", arg=[f"marker {number}"]))

    replies = at_once(400, echo)
    assert replies == [[{f"ms-{number % 3}": f"marker {number}"}] for number in range(400)]


def test_parallel_calls_of_different_users_get_their_own_identity(start, front):
    users = {f"user{number}": [{f"ms-{number % 3}": ["test.*"]}] for number in range(60)}
    api = front(start({"external_auth": {"auto": users}}))

    def who(number):
        user = f"user{number % 60}"
        allowed = api.post(local("test.arg", tgt=f"ms-{number % 3}", username=user))
        refused = api.post(local("test.arg", tgt=f"ms-{(number + 1) % 3}", username=user))
        return allowed.ret[0][f"ms-{number % 3}"]["kwargs"]["__pub_user"], refused.status

    assert at_once(120, who) == [(f"user{number % 60}", 401) for number in range(120)]


def test_bad_logins_do_not_slow_a_good_one(api):
    good = local("test.ping", tgt="ms-0")
    alone = sorted(timed(lambda: api.run(good)) for _ in range(20))[10]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        bad = [pool.submit(api.post, {**good, "username": "nobody"}) for _ in range(400)]
        among = sorted(timed(lambda: api.run(good)) for _ in range(20))[10]
        assert {request.result().status for request in bad} == {401}
    assert among < 50 * alone + 0.5


def abort(address):
    """Sends half a request, or all of one and does not wait."""
    for data in (fastcgi.request(b"[]")[:-9], fastcgi.request(json.dumps([local("test.ping")]).encode())):
        with connect(address) as connection:
            connection.sendall(data)


@NEEDS_PTRACE
def test_files_and_threads_are_given_back(start, front):
    daemon = start({"rest_fcgi": {"idle_thread_timeout": 1}})
    api = front(daemon)

    def mixed(number):
        api.post(local("test.ping"))
        api.post({**local("test.ping"), "username": "nobody"})
        api.raw("{")
        api.request("GET")
        api.request("PUT")
        api.post({**local("test.echo", arg=["x"]), "client": "local_async"})
        abort(daemon.address)

    def at_rest():
        return int(daemon.status("Threads")) < 16 and daemon.open_files()

    at_once(16, mixed)
    files = wait_until(at_rest, "idle threads end")
    for _ in range(16):
        at_once(16, mixed)
    wait_until(lambda: 0 < at_rest() <= files, "as many files are open as before")


def resident(daemon):
    return int(daemon.status("VmRSS"))


def test_memory_stays_where_it_was(start):
    daemon = start({"rest_fcgi": {"jobs_kept": 100}})
    body = json.dumps([{**CRED, "client": "local", "tgt": "*", "fun": "test.echo", "arg": ["x" * 1000]}]).encode()

    def many(count):
        with connect(daemon.address) as connection:
            for _ in range(count):
                connection.sendall(fastcgi.request(body, keep=True))
                assert fastcgi.receive(connection).status == 200

    many(3000)
    before = resident(daemon)
    many(3000)
    assert resident(daemon) < before * 1.5 + 8192
