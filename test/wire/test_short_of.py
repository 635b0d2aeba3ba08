# SPDX-License-Identifier: MIT
"""Full disks, few descriptors and no threads. Service resumes without a restart."""

import collections
import concurrent.futures
import contextlib
import functools
import json
import os
import re
import resource
import shutil
import subprocess
import time

import pytest

from support import daemon as daemons
from support import fastcgi
from support.api import CRED, JSON, Api, chunk, local
from support.daemon import NEEDS_PTRACE, merge
from support.disk import fill, small
from support.jobs import call, refused, runner
from support.ledger import Ledger, await_answers, load, over_http
from support.limits import Faults, limited
from support.process import TIMEOUT, connect, free_port, wait_until
from support.rest import api_of, login, serving, session

PING = local("test.ping", tgt="ms-0")


@pytest.fixture
def small_disk(directory, mounts):
    with small(directory / "disk", "16m") as path:
        yield path


def pong(daemon):
    return call(daemon.address, PING) == [{"ms-0": True}]


def good(api, token):
    return api.request("GET", "/minions/ms-0", headers=session(token)).status


def found_by(api):
    def found(jid):
        low = chunk("runner", "jobs.list_job", kwarg={"jid": jid})
        return "Function" in api.request("POST", "/run", json.dumps([low]), JSON).ret[0]

    return found


def log_in(api):
    return api.request("POST", "/login", json.dumps(CRED), JSON)


def test_a_full_disk_refuses_asynchronous_jobs_and_logins_only(small_disk, start):
    served = serving()
    daemon = start({**merge(served, {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}}), "cachedir": str(small_disk / "cache")})
    api = api_of(served)
    start_job = {"client": "local_async", "tgt": "*", "fun": "test.ping"}
    kept = call(daemon.address, start_job)[0]["jid"]
    token, ended = login(api), login(api)
    filler = fill(small_disk)
    large = {"client": "local", "tgt": "*", "fun": "test.arg", "arg": ["x" * 2000]}
    for _ in range(100):
        assert call(daemon.address, large)[0]["ms-0"]
    assert "full" in refused(daemon.address, start_job)
    assert log_in(api).status == 503
    assert good(api, token) == 200
    assert daemon.log().count("cannot write to the database: ") == 1
    filler.unlink()
    again = call(daemon.address, start_job)[0]["jid"]
    assert {kept, again} <= runner(daemon.address, "jobs.list_jobs").keys()
    assert good(api, login(api)) == good(api, token) == 200
    assert api.request("POST", "/logout", headers=session(ended)).status == 200
    assert good(api, ended) == 401
    daemon.await_log("writing to the database works again")
    assert daemon.log().count("writing to the database works again") == 1


def test_a_full_disk_of_the_log_delays_no_request_and_logging_resumes(small_disk, start):
    files = {"log_file": str(small_disk / "log"), "audit_log": str(small_disk / "audit")}
    daemon = start({"rest_fcgi": files})
    assert pong(daemon)
    filler = fill(small_disk)
    for _ in range(100):  # some lines still fit into the last page of each file
        assert pong(daemon)
    before = (small_disk / "audit").read_text().count("fun=test.ping")
    assert before < 101
    assert "No space left on device" in daemon.log()
    filler.unlink()
    assert pong(daemon)
    wait_until(lambda: (small_disk / "audit").read_text().count("fun=test.ping") > before, "there are lines again")


@NEEDS_PTRACE
def test_few_descriptors_refuse_requests_but_end_no_session(start, directory, capsys):
    served = serving()
    # An idle thread keeps descriptors open, so idle threads end after one second.
    daemon = start(merge(served, {"log_level": "error", "rest_fcgi": {"idle_thread_timeout": 1}}))
    api, ledger = api_of(served), Ledger(directory)
    sessions, logins = collections.Counter(), collections.Counter()
    token = login(api)

    def ask(_):
        for statuses, status in (sessions, lambda: good(api, token)), (logins, lambda: log_in(api).status):
            try:
                statuses[status()] += 1
            except OSError:
                statuses["cut off"] += 1

    at_rest = daemon.open_files()
    with load(ledger, over_http(api, "/run")), concurrent.futures.ThreadPoolExecutor(4) as pool:
        for spare in (20, 1):
            with limited(daemon, resource.RLIMIT_NOFILE, at_rest + spare):
                sent = ledger.sent
                list(pool.map(ask, range(10)))
                wait_until(lambda sent=sent: ledger.sent > sent + 20, "further jobs are sent")
        await_answers(ledger)
    assert good(api, token) == 200 and daemon.running
    ledger.close(f"few descriptors (sessions: {dict(sessions)}, logins: {dict(logins)})", found_by(api), capsys)
    assert sessions.keys() | logins.keys() <= {200, 503, "cut off"}


def test_half_heads_do_not_use_up_the_descriptors(start, directory):
    """The hard limit of 1024 is below `max_http_connections`."""
    few = directory / "few"
    few.write_text(f'#!/bin/sh\nulimit -n 1024\nexec {daemons.BINARY} "$@"\n')
    few.chmod(0o755)
    served = serving()
    daemon = start(served, binary=few)
    api, address = api_of(served), ("127.0.0.1", served["rest_cherrypy"]["port"])
    assert "open files: found a limit of 1024" in daemon.log()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1500):
            stack.enter_context(connect(address)).sendall(b"POST /run HTTP/1.1\r\nHost: a\r\n")
        begun = time.monotonic()
        assert api.request("POST", "/run", json.dumps([PING]), JSON).status == 200
        assert time.monotonic() - begun < 5
    assert "Too many open files" not in daemon.log()


@NEEDS_PTRACE
def test_without_a_free_descriptor_idle_connections_make_room(start):
    served = serving()
    daemon, address = start(served), ("127.0.0.1", served["rest_cherrypy"]["port"])
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(address)).sendall(b"POST /run HTTP/1.1\r\nHost: a\r\n")
        wait_until(lambda: daemon.open_files() > 30, "the connections are open")
        with limited(daemon, resource.RLIMIT_NOFILE, daemon.open_files()):
            begun = time.monotonic()
            assert api_of(served).request("GET", "/").status == 200
            assert time.monotonic() - begun < 5
    daemon.await_log("cannot accept a connection, trying again: Too many open files")


@NEEDS_PTRACE
def test_without_a_free_descriptor_the_port_of_the_metrics_answers(start):
    """The web server's connections to FastCGI use up all descriptors."""
    port = free_port()
    daemon, metrics = start({"rest_fcgi": {"metrics": {"listen": f"127.0.0.1:{port}"}}}), Api("127.0.0.1", port)
    assert pong(daemon)
    slow = fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[8])]).encode())
    with limited(daemon, resource.RLIMIT_NOFILE, daemon.open_files() + 8), contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(daemon.address)).sendall(slow)
        daemon.await_log("FastCGI: cannot accept a connection, trying again: Too many open files")
        for _ in range(3):
            for path in ("/health", "/ready", "/metrics"):
                begun = time.monotonic()
                reply = metrics.request("GET", path)
                assert reply.status == 200 and time.monotonic() - begun < 2, reply
            found = dict(re.findall(r"^(\w+) (\S+)$", reply.text, re.MULTILINE))
            assert float(found["process_open_fds"]) > 20 and float(found["process_resident_memory_bytes"]) > 0
            assert float(found["rest_fcgi_files_left"]) <= 16
        assert daemons.run("--config", daemon.config_path, "--health").returncode == 0
    wait_until(lambda: pong(daemon), "requests are answered again", 2 * TIMEOUT)


USER = 61613  # no other process has this user, so the limit counts only rest_fcgi's own threads


@pytest.mark.skipif(os.getuid() != 0, reason="root is needed to run rest_fcgi as another user")
@pytest.mark.parametrize("most", range(1, 10))
def test_a_process_without_threads_for_its_work_ends_with_status_70(directory, most):
    directory.chmod(0o755)
    home, served = directory / "home", serving()
    home.mkdir()
    config = home / "master"
    config.write_text(json.dumps(daemons.master_config(home, served)))
    for path in (home, *home.iterdir()):
        os.chown(path, USER, USER)
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_NPROC, (most, most))
    argv = [shutil.copy(daemons.BINARY, directory), "--config", config]  # other users cannot read the build folder
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen(argv, user=USER, group=USER, extra_groups=[], preexec_fn=limit, stdin=subprocess.DEVNULL, stderr=log)
    try:
        answered = wait_until(lambda: process.poll() is not None or answers(api_of(served)), "the process answers or ends")
        if process.poll() is None:
            assert answered and most > 3
            process.terminate()
            assert process.wait(10) == 0
        else:
            assert process.returncode == 70 and b"thread" in (directory / "log").read_bytes()
    finally:
        process.kill()
        process.wait()


def answers(api):
    with contextlib.suppress(OSError):
        return api.request("GET", "/").status == 200
    return False


def test_missing_threads_refuse_requests_but_lose_none(start, directory, capsys):
    faults, served = Faults(directory), serving()
    with faults.preloaded():
        daemon = start(merge(served, {"log_level": "error"}))
    api, ledger = api_of(served), Ledger(directory)
    with load(ledger, over_http(api, "/run"), threads=2):
        await_answers(ledger)
        faults.set_no_threads(1)
        threads = int(daemon.status("Threads"))
        slow = json.dumps([local("test.sleep", tgt="ms-0", arg=[0.3])])
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            replies = pool.map(lambda _: api.request("POST", "/run", slow, JSON), range(32))
            statuses = collections.Counter(reply.status for reply in replies)
            assert int(daemon.status("Threads")) <= threads
            faults.set_no_threads(0)
            list(pool.map(lambda _: api.request("POST", "/run", slow, JSON), range(32)))
            assert int(daemon.status("Threads")) > threads, "it needs no more: this shows nothing"
        await_answers(ledger)
    assert daemon.running and good(api, login(api)) == 200
    ledger.close(f"no threads (slow ones: {dict(statuses)})", found_by(api), capsys)
    assert statuses.keys() <= {200, 503}
