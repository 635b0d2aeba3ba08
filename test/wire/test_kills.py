# SPDX-License-Identifier: MIT
"""kill -9 under load. A test fails if a job is lost or runs twice. support/ledger.py defines the printed outcomes."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import time

import pytest
from support import daemon as daemons
from support.jobs import runner
from support.ledger import MINION, Ledger, await_answers, load, over_fastcgi, over_http
from support.process import command_lines, meanwhile, processes_of, wait_until
from support.units import Unit

KILLS = 200 if daemons.LONG else 3
BUILT = daemons.BINARY.parent


def found_by(address):
    return runner(address, "jobs.list_jobs").__contains__


@pytest.fixture
def ledger(directory):
    directory.chmod(0o711)
    return Ledger(directory)


@pytest.fixture(params=["sqlite", "etcd"])
def etcd_or_none(request):
    return request.getfixturevalue("etcd") if request.param == "etcd" else None


@pytest.fixture
def unit(directory, keep, etcd_or_none):
    changes = {"log_level": "warning"}
    if etcd := etcd_or_none:
        changes |= {"master_job_cache": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}", "etcd.require_v2": False}
    return keep(Unit(directory / "unit", changes))


def test_killing_the_responder_loses_no_answered_request(unit, front, ledger, capsys, etcd_or_none):
    nginx = front(unit)
    chance, kills = random.Random(13), KILLS if etcd_or_none else max(KILLS, 10)
    with load(ledger, over_fastcgi(unit.address), over_http(nginx)):
        for number in range(kills):
            await_answers(ledger)
            time.sleep(chance.uniform(0, 0.05))
            kills_etcd = etcd_or_none is not None and number % 3 == 1
            if kills_etcd:
                etcd_or_none.kill()
            assert unit.replace(signal.SIGKILL) == -signal.SIGKILL
            if kills_etcd:
                etcd_or_none.restart()
        await_answers(ledger)
    what = "the responder and of etcd" if etcd_or_none else "the responder"
    ledger.close(f"{kills} kills of {what}", found_by(unit.address), capsys)
    commands = str([job["Arguments"] for job in runner(unit.address, "jobs.list_jobs").values()])
    assert [word for word in ledger.answered() if f"echo {word} |" not in commands] == [], "the job cache has each job"
    # nginx answers 502 if a kill cuts its connection. New connections wait until a process runs.
    assert set(ledger.statuses) <= {200, 502} and ledger.count("answered") < ledger.sent
    assert unit.starts == kills + 1
    with contextlib.closing(sqlite3.connect(unit.directory / "cache/rest_fcgi/state.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@contextlib.contextmanager
def some_dying(program, every):
    """Kills every `every`th process of the program while the block runs. Yields the pids of the killed processes."""
    seen, killed = set(), []

    def kill_some():
        for pid in set(processes_of(program)) - seen:
            seen.add(pid)
            if len(seen) % every == 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    with meanwhile(kill_some, 0.002):
        yield killed


def test_killing_rest_fcgi_run_loses_no_answered_request(start, directory, capsys):
    helper, ledger = directory / "rest_fcgi_run", Ledger(directory, seconds=0.1)
    shutil.copy(BUILT / helper.name, helper)  # the test must kill no process of another test
    daemon = start({"log_level": "warning", "rest_fcgi": {"embedded": {"run_helper": str(helper)}}})
    with some_dying(helper, 3) as killed:
        with load(ledger, over_fastcgi(daemon.address), clients=["local"]):
            await_answers(ledger, 10 * KILLS)
            wait_until(lambda: len(killed) > KILLS and ledger.reasons, "some helpers were killed during a job")
    ledger.close(f"{len(killed)} kills of rest_fcgi_run", capsys=capsys)
    assert set(ledger.statuses) == {200}
    refused = [ledger.reasons[word] for word in ledger.reasons]
    assert refused and all(MINION in text for text in refused), "the return of the minion has the error"
    marks = bytes(ledger.marks)
    wait_until(lambda: not any(marks in b" ".join(arguments) for _, arguments in command_lines()), "all programs of the jobs have ended")
