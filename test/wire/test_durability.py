# SPDX-License-Identifier: MIT
"""Answered jobs survive the end of a process and are visible in other processes."""

import sqlite3

from support.daemon import KILLS, run
from support.jobs import Clients, kill_again_and_again, runner


def database_of(daemon):
    return daemon.directory / "cache/rest_fcgi/state.db"


def sharing(daemon):
    """Returns the settings of a process that shares the store of `daemon`."""
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


def test_check_config_creates_no_database(directory, start):
    daemon = start()
    assert daemon.stop() == 0
    database_of(daemon).unlink()
    checked = run("--check-config", "--config", str(daemon.config_path))
    assert checked.returncode == 0 and f"in {database_of(daemon)}, for 86400 seconds" in checked.stdout
    assert not database_of(daemon).exists()


def test_a_corrupt_database_prevents_the_start_and_is_not_changed(start):
    daemon = start()
    assert daemon.stop() == 0
    database = database_of(daemon)
    database.write_bytes(b"x" * 8192)
    second = run("--config", str(daemon.config_path))
    assert second.returncode == 78
    assert f"store: {database}: " in second.stderr
    assert database.read_bytes() == b"x" * 8192
