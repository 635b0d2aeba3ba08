# SPDX-License-Identifier: MIT
"""Real Salts with rest_fcgi in front of them.

REST_FCGI_SALT_SERIES names release series. All rows run against the first series.
REST_FCGI_SALT_ROWS=all also runs all rows against the other series. The default is rows with `main`.
REST_FCGI_SALT_LIVE=1 compares with Salt's own client instead of the recording."""

import os
import secrets
import shutil
import subprocess

import pytest
from salt_api import WAYS
from support import salts
from support.process import TIMEOUT, free_port, short_directory, wait_until
from support.salt_engine import Engine
from support.salt_master import DEAD, Salt


WANTED = os.environ.get("REST_FCGI_SALT_SERIES", salts.SERIES[0]).split()
ALL_ROWS = os.environ.get("REST_FCGI_SALT_ROWS") == "all"
TABLES = {  # the tests of these files stop no part of Salt
    "test_rest_rows.py",
    "test_salt_command_line.py",
    "test_salt_engine_rows.py",
    "test_salt_engine_secrets.py",
    "test_salt_page.py",
}


def wanted(item):
    params = params_of(item)
    if "salt" not in params:
        return True
    if "row" in params and not (ALL_ROWS or params["row"].main or params["salt"] == salts.SERIES[0]):
        return False
    return params["salt"] in WANTED


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Groups the tests by release series, so that each series starts once."""
    left_out = [item for item in items if not wanted(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if wanted(item)]
    for item in items:
        if "salt" in params_of(item):
            use = "tables" if item.path.name in TABLES else "trouble"
            item.add_marker(pytest.mark.xdist_group(f"salt-{item.callspec.params['salt']}-{use}"))
    series_of = {at: item.callspec.params["salt"] for at, item in enumerate(items) if "salt" in params_of(item)}
    in_order = [items[at] for at in sorted(series_of, key=series_of.get)]
    for at, item in zip(series_of, in_order):
        items[at] = item


def params_of(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


class Running:
    """The running Salt, and a running rest_fcgi that the tests do not change."""

    def __init__(self):
        self.salt = self._engine = None
        self._broken = {}

    def of(self, series):
        """Returns a master and three minions of a series. The key of another minion is accepted."""
        if series in self._broken:
            pytest.fail(f"Salt {series} did not start: {self._broken[series]}")
        if self.salt is None or self.salt.series != series:
            self.stop()
            folder = salts.require(series)
            try:
                self.salt = Salt(folder, short_directory(), series)
            except Exception as error:
                self._broken[series] = error
                raise
            self.salt.accept(DEAD)
        return self.salt

    @property
    def engine(self):
        if self._engine is None:
            rest = {way: {"port": free_port()} for way in WAYS}
            netapi = {"netapi": ["rest_wsgi", *WAYS]}
            self._engine = Engine(self.salt, self.salt.home / "engine", {"rest_fcgi": netapi, **rest})
            self._engine.ports = {way: section["port"] for way, section in rest.items()}
        return self._engine

    def stop(self):
        if self._engine:
            assert self._engine.stop() == 0, self._engine.log()
            self._engine = None
        if self.salt:
            self.salt.stop()
            shutil.rmtree(self.salt.home, ignore_errors=True)
            self.salt = None


@pytest.fixture(scope="session")
def running():
    one = Running()
    yield one
    one.stop()


@pytest.fixture
def salt(running, request):
    return running.of(request.param)


@pytest.fixture
def engine(running, salt):
    return running.engine


@pytest.fixture
def start_engine(salt):
    """Starts rest_fcgi. Example: start_engine({"timeout": 2})."""
    started = []

    def starter(changes=None, **options):
        started.append(Engine(salt, short_directory() / "engine", changes, **options))
        return started[-1]

    yield starter
    for one in started:
        assert not one.running or one.stop() == 0, one.log()
        shutil.rmtree(one.directory.parent)


@pytest.fixture
def bus(salt):
    """Yields a function that returns all events of the master's bus as text."""
    argv = [salt.folder / "bin/python", "-W", "ignore", salts.EVENTS, salt.master.config_path]
    path = salt.home / f"events-{secrets.token_hex(4)}"
    with open(path, "w") as events, open(salt.home / "events.log", "a") as log:
        reader = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=events, stderr=log)
    wait_until(lambda: path.read_text().startswith("reading"), "the bus is read", 4 * TIMEOUT)
    yield path.read_text
    reader.terminate()
    reader.wait(TIMEOUT)
