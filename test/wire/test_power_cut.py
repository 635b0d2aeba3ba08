# SPDX-License-Identifier: MIT
"""Acknowledged data survives a power cut. The disk loses data that was not synchronized, except for random pages.

Acknowledged data is the jid of an asynchronous job, a token and a logout (deploy/operate.md).
Lost synchronous jobs are counted and printed. CUTS sets the number of power cuts."""

import collections
import contextlib
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import threading
import time

import pytest

from support.api import CRED, JSON, chunk, local
from support.daemon import LONG, merge
from support.disk import Disk
from support.modules import with_modules
from support.process import TIMEOUT, join, wait_until
from support.rest import api_of, serving
from support.salt_master import MODULES

CUTS = int(os.environ.get("CUTS", 1000 if LONG else 6))
WITHOUT_ETCD = CUTS // 5
LIVES = 25  # `LIVES` is the number of power cuts of one disk. Checks of a full disk take long.
WRITTEN_BY_THEN = 3.0  # `WRITTEN_BY_THEN` is the number of seconds after which a synchronous job is on the disk.
RECENT = 200  # `RECENT` is the number of tokens and logouts to check. A user has at most 1,000 tokens.


class Answered:
    """Maps from jids, words of synchronous jobs, tokens and logouts to the time of the reply."""

    def __init__(self):
        self.jobs, self.words, self.tokens, self.ended = {}, {}, {}, {}

    def update(self, other):
        for name, kept in vars(self).items():
            kept.update(getattr(other, name))

    def now(self):
        copy = Answered()
        for name, kept in vars(self).items():
            setattr(copy, name, kept.copy())
        return copy


class Session:
    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def ask(self, method, path, body=None, token=None, key=None):
        headers = {"X-Auth-Token": token} if token else {}
        headers.update({"Idempotency-Key": key} if key else {})
        try:
            self._connection.request(method, path, body and json.dumps(body), {**JSON, **headers})
            reply = self._connection.getresponse()
            text = reply.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        return reply.status, json.loads(text).get("return") if reply.status == 200 else text

    def run(self, *low):
        return self.ask("POST", "/run", low)

    def login(self):
        status, ret = self.ask("POST", "/login", CRED)
        return ret[0]["token"] if status == 200 else None

    def is_good(self, token):
        status, text = self.ask("GET", "/minions/ms-0", token=token)
        assert status in (200, 401), text
        return status == 200

    def jobs(self):
        """Returns a map from jid to the arguments of the job."""
        status, ret = self.run(chunk("runner", "jobs.list_jobs"))
        assert status == 200, ret
        return {jid: job["Arguments"] for jid, job in ret[0].items()}


def work(port, answered, name, words_alone):
    """Starts jobs, logs in and logs out until rest_fcgi ends."""
    session = Session(port)
    with contextlib.suppress(OSError):
        for turn in itertools.count():
            word = f"{name}-{turn}"
            if session.run(local("test.arg", tgt="ms-0", arg=[word]))[0] == 200:
                answered.words[word] = time.monotonic()
            if words_alone:
                continue
            status, ret = session.run(chunk("local_async", "test.ping", tgt="*"))
            if status == 200:
                answered.jobs[ret[0]["jid"]] = time.monotonic()
            kept, ended = session.login(), session.login()
            if kept:
                answered.tokens[kept] = time.monotonic()
            if ended and session.ask("POST", "/logout", token=ended)[0] == 200:
                answered.ended[ended] = time.monotonic()


def cut_power(daemon, disk, threads, seconds, chance, before=lambda: None):
    """Runs the threads for some seconds, then cuts the power. Returns the result of `before` and the time of the cut."""
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    if chance.random() < 0.8:
        disk.write_some(chance)
    result, when = before(), time.monotonic()
    disk.cut()
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    join(threads)
    disk.power_up()
    return result, when


def live_and_lose_power(daemon, port, disk, life, chance):
    """Sends requests, then cuts the power. Returns the data acknowledged in this life and the time of the cut."""
    answered = Answered()
    words_alone = life % 8 == 3  # no asynchronous jobs and logouts, because their writes include earlier jobs
    threads = [threading.Thread(target=work, args=(port, answered, f"{life}-{number}", words_alone)) for number in range(4)]
    seconds = 1.5 * WRITTEN_BY_THEN if words_alone else chance.uniform(0.1, 0.4)
    return cut_power(daemon, disk, threads, seconds, chance, answered.now)


class Tally:
    """Counts of acknowledged and of lost data, over all disks."""

    def __init__(self):
        self.cuts, self.oldest = 0, 0
        self._acknowledged, self._lost = collections.Counter(), collections.Counter()

    def count(self, acknowledged, session, jobs, words=None):
        """Adds the result of one power cut. Without `words`, no synchronous job was looked up."""
        lost = Answered()
        lost.jobs = acknowledged.jobs.keys() - jobs
        lost.words = set() if words is None else acknowledged.words.keys() - words
        lost.tokens = [token for token in acknowledged.tokens if not session.is_good(token)]
        lost.ended = [token for token in acknowledged.ended if session.is_good(token)]
        for name, missing in vars(lost).items():
            self._acknowledged[name] += len(getattr(acknowledged, name))
            self._lost[name] += len(missing)
            assert name == "words" or not missing, f"{len(missing)} {name} are lost: {sorted(missing)[:5]}"

    def __str__(self):
        names = {"jobs": "asynchronous jobs", "words": "synchronous jobs", "tokens": "tokens", "ended": "logouts"}
        counts = "; ".join(f"{self._acknowledged[key]} {name} acknowledged, {self._lost[key]} lost" for key, name in names.items())
        return f"{self.cuts} power cuts: {counts}; the oldest lost job was {1000 * self.oldest:.0f} ms old"


@pytest.fixture
def tally(capsys):
    counted = Tally()
    yield counted
    with capsys.disabled():
        print(f"\n  {counted}")


def on_disk(disk, **more):
    served = serving()
    served["rest_fcgi"].update({"login_guard": {"tries": 0}})
    return {"cachedir": str(disk.path / "cache"), **served, **more}


def disks(directory, cuts):
    """Yields new disks, each with its number of power cuts."""
    for number in range(0, cuts, LIVES):
        disk = Disk(directory / f"disk{number}")
        yield disk, min(LIVES, cuts - number)
        disk.close()


def remembered(earlier, acknowledged, session, chance):
    """Checks recent tokens and logouts of earlier power cuts, then adds the acknowledged tokens and logouts."""
    for name, good in (("tokens", True), ("ended", False)):
        newest = list(getattr(earlier, name))[-RECENT:]
        some = chance.sample(newest, min(5, len(newest)))
        assert [session.is_good(token) for token in some] == [good] * len(some), name
    earlier.update(acknowledged)


def test_acknowledged_jobs_tokens_and_logouts_survive_power_cuts(directory, mounts, start, tally):
    chance = random.Random(13)
    for disk, cuts in disks(directory, CUTS - WITHOUT_ETCD):
        changes, earlier = on_disk(disk, log_level="warning"), Answered()
        port = api_of(changes).port
        daemon = start(changes)
        for life in range(cuts):
            acknowledged, when = live_and_lose_power(daemon, port, disk, life, chance)
            tally.cuts += 1
            daemon = start(changes)
            session = Session(port)
            jobs = session.jobs()
            words = {word for arguments in jobs.values() for word in arguments}
            oldest = max((when - acknowledged.words[word] for word in acknowledged.words.keys() - words), default=0)
            tally.oldest = max(tally.oldest, oldest)
            tally.count(acknowledged, session, jobs.keys(), words)
            remembered(earlier, acknowledged, session, chance)
            assert earlier.jobs.keys() <= jobs.keys()
            assert oldest < WRITTEN_BY_THEN
        assert daemon.stop() == 0
        with contextlib.closing(sqlite3.connect(disk.path / "cache/rest_fcgi/state.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def delivered(etcd, root):
    return {key.split(b"/")[-2].decode() for key in etcd.all(f"{root}/jobs/") if key.endswith(b"/.load.p")}


def test_the_outbox_for_etcd_survives_power_cuts(directory, etcd, mounts, start, tally):
    """Every other start has no etcd, so jobs wait in the outbox. The next start delivers these jobs to etcd."""
    chance = random.Random(31)
    for disk, cuts in disks(directory, WITHOUT_ETCD):
        root, waiting = f"/salt/{disk.path.name}", Answered()
        where = {"etcd.host": f"127.0.0.1:{etcd.port}", "etcd.require_v2": False, "etcd.returner_root": root}
        changes = on_disk(disk, log_level="warning", master_job_cache="etcd", **where)
        port = api_of(changes).port
        for life in range(cuts + 1):
            is_reachable = life % 2 == 1 or life == cuts
            etcd.kill()
            if is_reachable:
                etcd.restart()
            daemon = start(changes)
            if is_reachable:
                with contextlib.suppress(AssertionError):  # the tally reports missing jobs
                    wait_until(lambda: waiting.jobs.keys() <= delivered(etcd, root), "waiting jobs are delivered")
                tally.count(waiting, Session(port), delivered(etcd, root))
                waiting = Answered()
            else:
                Session(port).run(chunk("local_async", "test.ping", tgt="*"))
                daemon.await_log("jobs wait in the outbox")
            if life < cuts:
                waiting.update(live_and_lose_power(daemon, port, disk, life, chance)[0])
                tally.cuts += 1
        assert daemon.stop() == 0


def test_a_request_with_a_key_does_not_run_again_after_a_power_cut(directory, modules, mounts, start, capsys):
    """The requests count their runs in files that no power cut affects."""
    directory.chmod(0o711)
    shutil.copy(MODULES / "wire.py", modules)
    folder, chance, counts = directory / "runs", random.Random(43), collections.Counter()
    folder.mkdir()
    folder.chmod(0o777)

    def runs(key):
        return len((folder / key).read_text().splitlines()) if (folder / key).exists() else 0

    def post(session, key):
        return session.ask("POST", "/run", [local("wire.count", tgt="ms-0", arg=[str(folder / key)])], key=key)[0]

    def work_with_keys(sent, name):
        session = Session(port)
        with contextlib.suppress(OSError):
            for turn in itertools.count():
                sent.append(f"{name}-{turn}")
                post(session, sent[-1])

    for disk, cuts in disks(directory, max(2, CUTS // 20)):
        changes = merge(on_disk(disk, log_level="warning"), with_modules(modules))
        port = api_of(changes).port
        daemon = start(changes)
        for life in range(cuts):
            sent = []
            threads = [threading.Thread(target=work_with_keys, args=(sent, f"{disk.path.name}-{life}-{at}")) for at in range(4)]
            cut_power(daemon, disk, threads, chance.uniform(0.5, 1.5), chance)
            daemon = start(changes)
            session = Session(port)
            for key in sent:
                before, status = runs(key), post(session, key)
                assert status in (200, 409) and runs(key) <= 1, (key, before, status, runs(key))
                counts[f"{status} after {before} runs"] += 1
        assert daemon.stop() == 0
    with capsys.disabled():
        print(f"\n  repetitions after power cuts: {dict(counts)}")
    assert counts["200 after 1 runs"]
