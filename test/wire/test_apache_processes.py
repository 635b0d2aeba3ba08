# SPDX-License-Identifier: MIT
"""State that processes of mod_fcgid share. Each process handles one request at a time."""

import concurrent.futures
import contextlib
import os
import signal
import threading

import pytest

from support import apache as apaches
from support.api import chunk, local
from support.process import join, wait_until

EVERYBODY = {"ms-0": True, "ms-1": True, "ms-2": True}
INTERRUPTED = "Job interrupted"


@pytest.fixture
def fcgid(directory, keep):
    """Starts Apache with mod_fcgid. Example: fcgid({"rest_fcgi": ...})."""
    return lambda changes=None, **options: keep(apaches.Fcgid(directory / "apache", changes, **options))


@contextlib.contextmanager
def occupied(apache):
    """Occupies one process with an endless request, so that other requests go to other processes."""
    # Waits, because the connection of an earlier request closes shortly after its reply.
    wait_until(lambda: apache.requests() == 0, "no process has a request")
    endless = threading.Thread(target=apache.post, args=[local("test.sleep", tgt="ms-0", arg=[600])])
    endless.start()
    try:
        wait_until(lambda: apache.requests() == 1, "a process has that request")
        yield
        wait_until(lambda: apache.requests() == 1, "it still has that request, and nothing else is left")
    finally:
        for pid in apache.pids():
            os.kill(pid, signal.SIGKILL)
        join([endless])


def start_job(apache, seconds):
    (started,) = apache.run(chunk("local_async", "test.sleep", tgt="ms-*", arg=[seconds]))
    return started["jid"]


def lookup(apache, jid):
    (found,) = apache.run(chunk("runner", "jobs.lookup_jid", jid=jid))
    return found


def test_every_process_accepts_a_token(fcgid):
    apache = fcgid()
    token = apache.command("--mk-token", "file:saltdev", stdin="x\n").strip()
    low = {"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    assert apache.run(low) == [{"ms-0": True}]
    with occupied(apache):
        assert apache.run(low) == [{"ms-0": True}]
        assert len(apache.pids()) > 1


def test_fcgid_max_processes_150_parallel_calls_are_answered_and_processes_share_the_count_of_failures(fcgid):
    apache = fcgid({"rest_fcgi": {"login_guard": {"tries": 3}}})
    with concurrent.futures.ThreadPoolExecutor(150) as pool:
        replies = list(pool.map(lambda number: apache.post(local("test.echo", tgt="ms-0", arg=[number])), range(150)))
        assert [(reply.status, reply.ret) for reply in replies] == [(200, [{"ms-0": number}]) for number in range(150)]
        assert len(apache.pids()) > 1
        wrong = [{**local("test.ping"), "password": f"wrong {number}"} for number in range(12)]
        statuses = [reply.status for reply in pool.map(apache.post, wrong)]
        assert set(statuses) <= {401, 429}, statuses
        again = [reply.status for reply in pool.map(apache.post, wrong)]
    assert again == [429] * 12, again  # each process may check one more password that it had already begun


def test_a_process_finds_the_job_of_another_process(fcgid):
    apache = fcgid()
    jid = start_job(apache, 0)
    with occupied(apache):
        wait_until(lambda: lookup(apache, jid) == EVERYBODY, "the second process finds what the first one did")
        assert len(apache.pids()) > 1


def test_sigterm_lets_a_running_job_end(fcgid):
    apache = fcgid()
    jid = start_job(apache, 2)
    (pid,) = apache.pids()
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: pid not in apache.pids(), "the process ends")
    assert lookup(apache, jid) == EVERYBODY
    assert pid not in apache.pids()


def test_a_job_beyond_the_shutdown_timeout_is_recorded_as_interrupted(fcgid):
    apache = fcgid(
        {"rest_fcgi": {"shutdown_timeout": 1}},
        server="ServerName localhost\nFcgidIdleTimeout 1\nFcgidMinProcessesPerClass 0\n",
        more="FcgidIdleScanInterval 1\nFcgidErrorScanInterval 3\n",
    )
    jid = start_job(apache, 600)
    wait_until(lambda: not apache.pids(), "mod_fcgid ends the idle process")
    found = lookup(apache, jid)
    assert set(found) == {"ms-0", "ms-1", "ms-2"}
    assert all(value.startswith(INTERRUPTED) for value in found.values())


def test_a_graceful_restart_of_apache_lets_jobs_end(fcgid):
    apache = fcgid()
    jid = start_job(apache, 1)
    (pid,) = apache.pids()
    apache.graceful()
    wait_until(lambda: pid not in apache.pids(), "the old process ends")
    assert lookup(apache, jid) == EVERYBODY
