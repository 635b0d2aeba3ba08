# SPDX-License-Identifier: MIT
"""Fixtures of the wire tests. The tests start the real binary and a real nginx on loopback.

REST_FCGI_BINARY=PATH selects another binary."""

import contextlib
import shutil

import pytest

from support import browser as browsers
from support import daemon as daemons
from support import etcd as etcds
from support.disk import private_mounts
from support.nginx import Nginx
from support.process import short_directory
from support.rest import api_of, serving

# Parallel workers start with the files that take longest.
LONGEST = ("test_salt_engine_rows", "test_salt_engine_failures", "test_salt_engine", "test_salt_ways", "test_salt_call", "test_salt")
LONGEST += ("test_python_modules", "test_etcd", "test_swap", "test_load", "test_apache")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keeps the tests of a file on one worker, because they share fixtures.
    The hook of salt_engine/conftest.py is registered later, so with `tryfirst` it runs before this hook."""

    def rank(item):
        return next((at for at, name in enumerate(LONGEST) if item.path.name.startswith(name)), len(LONGEST))

    items.sort(key=rank)
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session", autouse=True)
def the_binary_stands():
    if not daemons.BINARY.exists():
        pytest.exit(f"{daemons.BINARY} is not there: run `make` first", returncode=2)


@pytest.fixture
def directory():
    path = short_directory()
    yield path
    shutil.rmtree(path)


@pytest.fixture
def modules(directory):
    folder = directory / "modules"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture
def start(directory):
    """Starts a daemon. Example: start({"rest_fcgi": {"max_threads": 2}})."""
    started = []

    def starter(changes=None, **options):
        home = directory / str(len(started))
        home.mkdir()
        started.append(daemons.Daemon(home, changes, **options))
        return started[-1]

    yield starter
    for daemon in started:
        if daemon.running:
            assert daemon.stop() == 0, daemon.log()


@pytest.fixture
def on_port(start):
    """Starts a daemon with a module on its own port. Example: on_port("rest_tornado", cors_origin=[...])."""

    def starter(module="rest_cherrypy", **section):
        changes = serving(module, **section)
        start(changes)
        return api_of(changes, module)

    return starter


@pytest.fixture
def start_etcd(directory):
    """Starts an etcd. Example: start_etcd(auth=True, tls=True, v2=True)."""
    etcds.require()
    started = []

    def starter(**options):
        started.append(etcds.Etcd(directory / f"etcd{len(started)}", **options))
        return started[-1]

    yield starter
    for etcd in started:
        etcd.kill()


@pytest.fixture
def etcd(start_etcd):
    return start_etcd()


@pytest.fixture
def daemon(start):
    return start()


@pytest.fixture
def front(directory):
    """Starts nginx in front of daemons. Example: front(daemon, sample="tcp")."""
    started = []

    def starter(*daemons_behind, **options):
        addresses = [daemon.address for daemon in daemons_behind]
        started.append(Nginx(directory / f"nginx{len(started)}", addresses, **options))
        return started[-1]

    yield starter
    for nginx in started:
        nginx.stop()


@pytest.fixture
def nginx(daemon, front):
    return front(daemon)


@pytest.fixture
def mounts(directory):
    """Unmounts before the fixture `directory` removes its folder."""
    with private_mounts():
        yield


@pytest.fixture
def keep():
    """Stops servers at the end of the test. Example: apache = keep(Fcgid(...))."""
    with contextlib.ExitStack() as cleanup:

        def keeper(server):
            cleanup.callback(server.stop)
            return server

        yield keeper


@pytest.fixture
def browser(directory):
    browsers.require()
    started = browsers.Browser(directory / "browser")
    yield started
    started.close()


@pytest.fixture(scope="session")
def api():
    """A running daemon behind nginx, for tests that do not change the daemon."""
    path = short_directory()
    shared = daemons.Daemon(path)
    nginx = Nginx(path / "nginx", [shared.address])
    yield nginx
    nginx.stop()
    assert shared.stop() == 0, shared.log()
    shutil.rmtree(path)
