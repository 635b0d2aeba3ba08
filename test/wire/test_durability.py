# SPDX-License-Identifier: MIT
"""The database of the jobs."""

from support.daemon import run


def database_of(daemon):
    return daemon.directory / "cache/rest_fcgi/state.db"


def test_check_config_creates_no_database(directory, start):
    daemon = start()
    assert daemon.stop() == 0
    assert [path.name for path in database_of(daemon).parent.iterdir()] == ["state.db"]
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
