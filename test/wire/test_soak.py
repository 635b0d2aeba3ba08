# SPDX-License-Identifier: MIT
"""Hundreds of thousands of requests of all kinds to one process: it stays as large as it was. `make nightly` runs it."""

import concurrent.futures

from support import fastcgi
from support.daemon import NEEDS_PTRACE
from support.jobs import call, runner
from support.process import wait_until

THREADS = 4
WARM, ROUNDS = 5_000, 40_000  # turns, each of them a request of every kind
READERS = 16  # files of connections to the database, which are opened when several threads read at once
GROWTH = 1.15  # what an allocator may keep in pieces


def turn(address, number):
    """One request of each kind; what it must come to."""
    word = f"word-{number}"
    assert call(address, {"client": "local", "tgt": "*", "fun": "test.arg", "arg": [word] * 20}) is not None
    (job,) = call(address, {"client": "local_async", "tgt": "ms-0", "fun": "test.ping"})
    assert runner(address, "jobs.lookup_jid", jid=job["jid"]) in ({}, {"ms-0": True})
    bad = fastcgi.talk(address, fastcgi.request(b'[{"client": "local", "fun": '))
    assert bad.status == 400
    late = fastcgi.talk(address, fastcgi.request(b'[{"client": "local", "tgt": "*", "fun": "test.ping"}]'))
    assert late.status == 401


def run(address, first, count):
    for number in range(first, first + count):
        turn(address, number)


def together(address, count):
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        share = count // THREADS
        for done in [pool.submit(run, address, at * share, share) for at in range(THREADS)]:
            done.result()


@NEEDS_PTRACE
def test_a_process_that_served_for_long_is_as_large_as_before(start):
    threads = {"min_threads": THREADS + 2, "max_threads": THREADS + 2}  # each has a file of its own
    daemon = start({"log_level": "error", "rest_fcgi": {"jobs_kept": 1000, **threads}})
    together(daemon.address, WARM)
    size, files = int(daemon.status("VmRSS")), daemon.open_files()
    together(daemon.address, ROUNDS)
    wait_until(lambda: daemon.connections() == 0, "all connections are closed")
    assert int(daemon.status("VmRSS")) <= GROWTH * size
    assert daemon.open_files() <= files + READERS
