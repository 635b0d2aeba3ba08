# SPDX-License-Identifier: MIT
"""Answered jobs survive the end of a process and are visible in other processes."""

import signal
import sqlite3

import pytest
from support.daemon import KILLS, run
from support.jobs import Clients, call, kill_again_and_again, refused, runner


def database_of(daemon):
    return daemon.directory / "cache/rest_fcgi/state.db"


def sharing(daemon):
    """Returns the options of a process with the same store."""
    return {"cachedir": str(daemon.directory / "cache")}


def test_every_answered_job_survives_kills_under_load(start, capsys):
    first = start()
    database = database_of(first)
    first.stop()
    changes = {**sharing(first), "log_level": "warning"}
    clients = Clients(4)
    try:
        kill_again_and_again(lambda: start(changes), KILLS, clients)
    finally:
        clients.stop()
    last = start(changes)
    listed = runner(last.address, "jobs.list_jobs")
    words = {argument for job in listed.values() for argument in job["Arguments"]}
    with_load = clients.jobs & listed.keys()
    assert clients.jobs and clients.words
    returned = [jid for jid, job in listed.items() if clients.words & set(job["Arguments"])]
    results = [runner(last.address, "jobs.lookup_jid", jid=jid) for jid in returned]
    with capsys.disabled():
        print(
            f"\n  {KILLS} kills: {len(clients.jobs)} asynchronous jobs acknowledged, {len(with_load)} found; "
            f"{len(clients.words)} synchronous jobs answered, {len(words & clients.words)} found"
        )
    assert with_load == clients.jobs
    assert words >= clients.words
    assert all(result["ms-0"]["args"] for result in results)
    assert last.stop() == 0
    assert sorted(path.name for path in database.parent.iterdir()) == ["state.db"]
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def start_async(address):
    return call(address, {"client": "local_async", "tgt": "*", "fun": "test.ping"})[0]["jid"]


ALL_PONG = {"ms-0": True, "ms-1": True, "ms-2": True}


def test_a_process_finds_the_jobs_of_a_killed_process_at_once(start):
    first = start()
    second = start(sharing(first))
    call(first.address, {"client": "local", "tgt": "ms-0", "fun": "test.arg", "arg": ["left"]})
    first.kill(signal.SIGKILL)
    first.wait()
    assert any(job["Arguments"] == ["left"] for job in runner(second.address, "jobs.list_jobs").values())


def test_check_config_creates_no_database(directory, start):
    daemon = start()
    assert daemon.stop() == 0
    database_of(daemon).unlink()
    checked = run("--check-config", "--config", str(daemon.config_path))
    assert checked.returncode == 0 and f"in {database_of(daemon)}, for 86400 seconds" in checked.stdout
    assert not database_of(daemon).exists()


@pytest.mark.parametrize("content", [b"x" * 8192, None], ids=["corrupt", "a folder"])
def test_an_unusable_database_prevents_the_start(start, content):
    daemon = start()
    assert daemon.stop() == 0
    database = database_of(daemon)
    database.unlink()
    database.write_bytes(content) if content else database.mkdir()
    second = run("--config", str(daemon.config_path))
    assert second.returncode == 78
    assert f"store: {database}: " in second.stderr
    assert content is None or database.read_bytes() == content


ASYNC_PING = {"client": "local_async", "tgt": "*", "fun": "test.ping"}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


def test_a_locked_database_refuses_asynchronous_jobs_only_and_is_logged_once(start):
    daemon = start()
    kept = start_async(daemon.address)
    with sqlite3.connect(database_of(daemon), isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert [call(daemon.address, PING) for _ in range(20)] == [[ALL_PONG]] * 20
        assert kept in runner(daemon.address, "jobs.list_jobs")
        assert "database is locked" in refused(daemon.address, ASYNC_PING)
        other.execute("ROLLBACK")
    assert start_async(daemon.address) in runner(daemon.address, "jobs.list_jobs")
    assert daemon.log().count("cannot be written: database is locked") == 1
    assert daemon.log().count("it can be written again") == 1


def test_a_removed_database_is_replaced_by_a_new_one(start):
    daemon = start()
    start_async(daemon.address)
    for path in database_of(daemon).parent.iterdir():
        path.unlink()
    daemon.await_log("removed or replaced")
    jid = start_async(daemon.address)
    assert jid in runner(daemon.address, "jobs.list_jobs")
    assert daemon.log().count("removed or replaced") == 1
