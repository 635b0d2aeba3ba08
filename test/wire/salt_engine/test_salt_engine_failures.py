# SPDX-License-Identifier: MIT
"""Masters and minions that stop, return or freeze while rest_fcgi runs."""

import concurrent.futures
import contextlib
import os
import signal
import time

import pytest
from comparison import JID
from rows import local
from support import salts
from support.ledger import Ledger, await_answers, load, over_fastcgi
from support.process import TIMEOUT, has_ended, wait_until

FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)


@pytest.fixture
def breakable(salt):
    """Yields a master and minions that the test may stop. The fixture starts them again."""
    yield salt
    salt.heal()


def each(salt):
    return dict.fromkeys(salt.minions, True)


def await_all(engine, salt):
    salt.await_minions()

    def answered():
        reply = engine.post(local("test.ping", timeout=3, gather_job_timeout=2))
        return reply.status == 200 and reply.ret == [each(salt)]

    wait_until(answered, "all minions answer through the responder", 6 * TIMEOUT)


def timed(function):
    begun = time.monotonic()
    return function(), time.monotonic() - begun


class Record:
    def __init__(self, folder):
        self._folder = folder
        folder.mkdir()

    def chunk(self, marker):
        return local("wire.count", "ms-0", arg=[str(self._folder / marker)])

    def counts(self):
        return {path.name: len(path.read_text().splitlines()) for path in self._folder.iterdir()}


@pytest.fixture
def record(tmp_path):
    return Record(tmp_path / "record")


@pytest.mark.parametrize("salt", ["3007", "3008"], indirect=True)
def test_the_responder_leaves_an_orphaned_event_process_for_that_of_the_next_master(breakable, start_engine):
    engine = start_engine()
    engine.run(local("test.ping", "ms-0"))
    orphan = breakable.master.abandon(breakable.home / "master/sock/master_event_pub.ipc")
    try:
        breakable.heal()
        await_all(engine, breakable)
        assert not has_ended(orphan)
        assert engine.log().count("a process of an earlier Salt master") == 1
    finally:
        os.kill(orphan, signal.SIGKILL)


@FIRST_SERIES
def test_killing_the_master_loses_no_answered_request(breakable, start_engine, tmp_path, capsys):
    engine = start_engine({"rest_fcgi": {"request_timeout": 20}})
    ledger = Ledger(tmp_path, timeout=5, gather_job_timeout=5)
    with load(ledger, over_fastcgi(engine.address), threads=8, clients=["local"], pause=0.2):
        await_answers(ledger, 8)
        breakable.master.stop(signal.SIGKILL)
        time.sleep(2)
        breakable.heal()
        await_answers(ledger, 8)
    await_all(engine, breakable)
    ledger.close("a kill of the master", capsys=capsys)
    assert set(ledger.statuses) <= {200, 503, 504}, set(ledger.reasons.values())
    for word in ledger.ran().keys() & ledger.reasons.keys():
        text = ledger.reasons[word]
        assert JID.search(text) or "Minion did not return" in text, f"it was run, and the reply tells nothing of it: {text}"


@contextlib.contextmanager
def standing_still(pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@FIRST_SERIES
def test_salt_issue_53147_a_stopped_master_times_out(breakable, start_engine, record):
    engine = start_engine({"rest_fcgi": {"request_timeout": 20}})
    engine.run(record.chunk("before"))
    with standing_still(breakable.master.pids):
        reply, seconds = timed(lambda: engine.post(record.chunk("during")))
    assert reply.status == 504 and seconds < 20 + TIMEOUT
    await_all(engine, breakable)
    engine.run(record.chunk("after"))
    counts = record.counts()
    assert counts.pop("during", 1) == 1, "run twice"
    assert counts == {"before": 1, "after": 1}


@FIRST_SERIES
def test_calls_wait_for_a_master_that_stands_still_for_some_seconds(breakable, start_engine):
    engine = start_engine()
    engine.run(local("test.ping", "ms-0", client="local_async"))
    with concurrent.futures.ThreadPoolExecutor(6) as pool, standing_still(breakable.master.pids):
        calls = [pool.submit(engine.post, local("test.ping", "ms-0", client="local_async")) for _ in range(6)]
        time.sleep(6)
    assert [call.result().status for call in calls] == [200] * 6


@FIRST_SERIES
def test_a_job_that_runs_after_a_504_is_named_in_the_reply(breakable, start_engine, record):
    engine = start_engine({"rest_fcgi": {"request_timeout": 4}})
    engine.run(record.chunk("before"))
    with standing_still(breakable.master.pids):
        reply = engine.post({**record.chunk("during"), "client": "local_async"})
    assert reply.status == 504
    wait_until(lambda: record.counts() == {"before": 1, "during": 1}, "the job runs after all")
    assert JID.fullmatch(reply.json["jid"])


@FIRST_SERIES
def test_a_master_that_dies_during_jobs_leaves_503_with_their_jids(breakable, start_engine, record):
    engine = start_engine()
    chunk = local("cmd.run", "ms-0", arg=["sleep 20"], timeout=2, gather_job_timeout=2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(engine.post, chunk) for _ in range(4)]
        time.sleep(1)
        breakable.master.stop(signal.SIGKILL)
    for reply in (call.result() for call in calls):
        assert reply.status == 503
        assert f"{reply.json['jid']} runs" in reply.ret
    gone = engine.post(chunk)
    assert gone.status == 503 and "jid" not in gone.json and "Nothing was sent" in gone.ret
