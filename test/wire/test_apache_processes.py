# SPDX-License-Identifier: MIT
"""State that processes of mod_fcgid share. Each process handles one request at a time."""

import concurrent.futures

import pytest

from support import apache as apaches
from support.api import chunk, local
from support.process import wait_until

EVERYBODY = {"ms-0": True, "ms-1": True, "ms-2": True}
INTERRUPTED = "Job interrupted"


@pytest.fixture
def fcgid(directory, keep):
    """Starts Apache with mod_fcgid. Example: fcgid({"rest_fcgi": ...})."""
    return lambda changes=None, **options: keep(apaches.Fcgid(directory / "apache", changes, **options))


def start_job(apache, seconds):
    (started,) = apache.run(chunk("local_async", "test.sleep", tgt="ms-*", arg=[seconds]))
    return started["jid"]


def lookup(apache, jid):
    (found,) = apache.run(chunk("runner", "jobs.lookup_jid", jid=jid))
    return found


def test_fcgid_max_processes_150_parallel_calls_are_answered(fcgid):
    apache = fcgid()
    with concurrent.futures.ThreadPoolExecutor(150) as pool:
        replies = list(pool.map(lambda number: apache.post(local("test.echo", tgt="ms-0", arg=[number])), range(150)))
        assert [(reply.status, reply.ret) for reply in replies] == [(200, [{"ms-0": number}]) for number in range(150)]
    assert len(apache.pids()) > 1


def test_a_job_beyond_the_shutdown_timeout_is_recorded_as_interrupted(fcgid):
    apache = fcgid(
        {"rest_fcgi": {"shutdown_timeout": 1}},
        lines={"FcgidIdleTimeout 300": "FcgidIdleTimeout 1", "FcgidMinProcessesPerClass 1": "FcgidMinProcessesPerClass 0"},
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
