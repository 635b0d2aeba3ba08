# SPDX-License-Identifier: MIT
"""kill -9 under load. A test fails if a job is lost or runs twice. support/ledger.py defines the printed outcomes."""

import concurrent.futures
import contextlib
import itertools
import os
import random
import shutil
import signal
import sqlite3
import threading
import time

import pytest
from support import daemon as daemons
from support.jobs import runner
from support.ledger import MINION, Ledger, await_answers, load, over_fastcgi, over_http
from support.process import command_lines, processes_of, wait_until
from support.units import Unit

KILLS = 200 if daemons.LONG else 3
KILLS_OF_RESPONDER = max(KILLS, 10)
BUILT = daemons.BINARY.parent


def found_by(address):
    return runner(address, "jobs.list_jobs").__contains__


def kill(pid):
    """Kills a process. Returns False if the process had already ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def own_copy(name, directory):
    """Copies a helper, so that the test finds the processes of this copy by their path."""
    shutil.copy(BUILT / name, directory)
    return directory / name


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
    chance = random.Random(13)
    with load(ledger, over_fastcgi(unit.address), over_http(nginx)):
        for number in range(KILLS_OF_RESPONDER):
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
    ledger.close(f"{KILLS_OF_RESPONDER} kills of {what}", found_by(unit.address), capsys)
    commands = str([job["Arguments"] for job in runner(unit.address, "jobs.list_jobs").values()])
    assert [word for word in ledger.answered() if f"echo {word} |" not in commands] == [], "the job cache has each job"
    # nginx answers 502 if a kill cuts its connection. New connections wait until a process runs.
    assert set(ledger.statuses) <= {200, 502} and ledger.count("answered") < ledger.sent
    assert unit.starts == KILLS_OF_RESPONDER + 1
    with contextlib.closing(sqlite3.connect(unit.directory / "cache/rest_fcgi/state.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def kill_some(program, every, stop, killed):
    """Kills every `every`th process of the program until `stop` is set. Adds the pids to `killed`."""
    seen = set()
    while not stop.is_set():
        for pid in processes_of(program):
            if pid not in seen:
                seen.add(pid)
                if len(seen) % every == 0 and kill(pid):
                    killed.append(pid)
        time.sleep(0.002)


@contextlib.contextmanager
def helpers_dying(program, every):
    """Kills helpers while the block runs. Yields the pids of the killed helpers."""
    stop, killed = threading.Event(), []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        killer = pool.submit(kill_some, program, every, stop, killed)
        try:
            yield killed
        finally:
            stop.set()
    killer.result()


def test_killing_rest_fcgi_run_loses_no_answered_request(start, directory, capsys):
    helper, ledger = own_copy("rest_fcgi_run", directory), Ledger(directory, seconds=0.1)
    daemon = start({"log_level": "warning", "rest_fcgi": {"embedded": {"run_helper": str(helper)}}})
    with helpers_dying(helper, 3) as killed:
        with load(ledger, over_fastcgi(daemon.address), clients=["local"]):
            await_answers(ledger, 10 * KILLS)
            wait_until(lambda: len(killed) > KILLS and ledger.reasons, "some were killed, and were needed")
    ledger.close(f"{len(killed)} kills of rest_fcgi_run", capsys=capsys)
    assert set(ledger.statuses) == {200}
    refused = [ledger.reasons[word] for word in ledger.reasons]
    assert refused and all(MINION in text for text in refused), "the minion's return says so"
    marks = bytes(ledger.marks)
    wait_until(lambda: not any(marks in b" ".join(arguments) for _, arguments in command_lines()), "nothing goes on")


PASSWORDS = """#!/bin/sh
read -r given
[ "$given" = "good for $PAM_USER" ]
"""


@pytest.fixture
def pam(directory):
    """Returns settings for PAM users. Copies the helper, so that the test can kill its own processes."""
    script = directory / "passwords"
    script.write_text(PASSWORDS)
    script.chmod(0o755)
    (directory / "pam.d").mkdir()
    stack = f"auth required pam_exec.so quiet expose_authtok {script}\naccount required pam_permit.so\n"
    (directory / "pam.d/service").write_text(stack)
    wrapper = directory / "helper"
    wrapper.write_text(f"#!/bin/sh\nexec {own_copy('rest_fcgi_pam', directory)} --confdir {directory / 'pam.d'}\n")
    wrapper.chmod(0o755)
    guard = {"tries": 1000, "address_tries": 4000}
    return {
        "auth.pam.service": "service",
        "external_auth": {"file": None, "pam": {"*": [".*", "@runner", "@wheel", "@jobs"]}},
        "rest_fcgi": {"pam_helper": str(wrapper), "login_guard": guard},
    }


def test_killing_rest_fcgi_pam_never_accepts_a_wrong_password(start, pam, directory, ledger, capsys):
    daemon = start({"log_level": "error", **pam})
    exchange, numbers, stop = over_fastcgi(daemon.address), itertools.count(), threading.Event()
    (directory / "wrong").mkdir()
    wrong = Ledger(directory / "wrong")

    def log_in():
        while not stop.is_set():
            name = f"user{next(numbers)}"
            ledger.send(exchange, eauth="pam", username=name, password=f"good for {name}")
            wrong.send(exchange, eauth="pam", username=name, password="good for another one")

    with helpers_dying(directory / "rest_fcgi_pam", 3) as killed, concurrent.futures.ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(log_in) for _ in range(4)]
        try:
            await_answers(ledger, 10 * KILLS)
            wait_until(lambda: killed, "some were killed")
        finally:
            stop.set()
        [worker.result() for worker in workers]
    ledger.close(f"{len(killed)} kills of rest_fcgi_pam", capsys=capsys)
    assert set(ledger.statuses) <= {200, 500, 503}, "a good password is never a wrong one"
    assert set(wrong.statuses) <= {401, 500, 503} and not wrong.ran(), "and a wrong one never good"
