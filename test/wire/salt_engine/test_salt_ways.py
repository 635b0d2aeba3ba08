# SPDX-License-Identifier: MIT
"""Set-ups of a master, such as transports, addresses, owners, keys and syndics."""

import contextlib
import os
import pathlib
import shutil
import signal
import tempfile

import pytest
from rows import CRED, call, local
from support import salts
from support.daemon import BINARY
from support.process import Process, wait_until
from support.salt_engine import Engine
from support.salt_master import DEAD
from support.salt_syndic import BareSalt, SyndicatedSalt
from support.simulated_minions import SimulatedMinions
from test_salt_sessions import send

LINE = salts.SERIES[0]
QUICK = {"timeout": 1, "gather_job_timeout": 1}
NOBODY = 65534
MEGABYTE = 1_000_000


@contextlib.contextmanager
def running(kind, **options):
    """Runs a Salt in a folder that other users may search."""
    folder = salts.require(LINE)
    home = pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))  # a unix socket needs a short path
    home.chmod(0o755)
    salt = None
    try:
        salt = kind(folder, home, LINE, **options)
        yield salt
    finally:
        if salt:
            salt.stop()
        shutil.rmtree(home)


@contextlib.contextmanager
def in_front(salt, name="engine", changes=None, kind=Engine, **options):
    engine = kind(salt, salt.home / name, changes, **options)
    try:
        yield engine
    finally:
        assert not engine.running or engine.stop() == 0, engine.log()
        shutil.rmtree(engine.directory)


def accept(salt, minion=DEAD):
    key = salt.home / "master/pki/minions" / minion
    wait_until(key.parent.is_dir, "the master has made its folders")
    shutil.copy(salt.home / "master/pki/master.pub", key)


def await_answers(engine, *minions, seconds=300):
    low = local("test.ping", "*", **QUICK)

    def all_answer():
        reply = engine.post(low)
        return reply.status == 200 and all(reply.ret[0].get(minion) is True for minion in minions)

    wait_until(all_answer, f"{minions} answer: {engine.post(low)}: {engine.log()}", seconds)


def check_calls_of_the_master(engine):
    """Checks calls that the master runs. One is a runner, whose return arrives over the event bus."""
    assert engine.run(call("runner", "test.arg", arg=["a"])) == [{"args": ["a"], "kwargs": {}}]
    (wheel,) = engine.run(call("wheel", "key.list_all"))
    assert wheel["data"]["success"] is True
    (job,) = engine.run(local("test.ping", DEAD, client="local_async"))
    assert job["minions"] == [DEAD]


def test_the_responder_joins_a_bus_over_tcp():
    with running(BareSalt, changes={"ipc_mode": "tcp", "interface": "0.0.0.0"}, minions=("ms-0",)) as salt:
        accept(salt)
        with in_front(salt) as engine:
            await_answers(engine, "ms-0")
            check_calls_of_the_master(engine)
            assert not list((salt.home / "master/sock").glob("*.ipc")), "the bus is no unix socket"
            assert engine.run(local("test.echo", "ms-0", arg=["over tcp"])) == [{"ms-0": "over tcp"}]


class Unprivileged(Engine):
    def __init__(self, salt, directory, changes=None, groups=()):
        self.salt, self.directory = salt, directory
        directory.mkdir()
        self.address = str(directory / "fcgi.sock")
        self.config_path = directory / "master"
        self.configure(changes)
        binary = shutil.copy(BINARY, directory)  # other users cannot read the build folder
        for path in (directory, self.config_path):
            os.chown(path, NOBODY, NOBODY)
        user = ["--reuid", str(NOBODY), "--regid", str(NOBODY)]
        user += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        argv = ["setpriv", *user, binary, "--config", self.config_path, "--listen", f"unix:{self.address}"]
        self._process = Process(argv, directory / "rest_fcgi.log", self.address)


NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the responder as another user")
CLOSED = (
    "rest_fcgi cannot connect to the Salt master's event bus: its user has no permission for master_event_pub.ipc."
)


@pytest.fixture(scope="module")
def salt():
    """A master without minions. The master has an accepted key."""
    untrimmed = {"max_event_size": 100 * MEGABYTE}
    with running(BareSalt, changes=untrimmed, minions=()) as shared:
        accept(shared)
        yield shared


@NEEDS_ROOT
def test_a_user_outside_the_group_of_the_event_socket_gets_503_for_waiting_calls(salt):
    with in_front(salt, kind=Unprivileged) as engine:
        for low in (local("test.ping", DEAD), call("runner", "test.arg")):
            reply = engine.post(low)
            assert (reply.status, reply.ret) == (503, CLOSED)
        assert engine.run(local("test.ping", DEAD, client="local_async"))[0]["minions"] == [DEAD]
        bus = salt.home / "master/sock/master_event_pub.ipc"
        assert (
            f"no permission to connect to {bus}, which has mode 0660, owner root, group root: rest_fcgi's user "
            "nobody must be in the group root"
        ) in engine.log()


@NEEDS_ROOT
def test_a_user_in_the_group_of_the_event_socket_runs_every_call(salt):
    group = (salt.home / "master/sock/master_event_pub.ipc").stat().st_gid
    hooks = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"], "mount": {"/": "rest_wsgi", "/c": "rest_cherrypy"}}}
    with in_front(salt, changes=hooks, kind=Unprivileged, groups=[group]) as engine:
        check_calls_of_the_master(engine)
        (ret,) = engine.run(local("test.ping", DEAD, **QUICK))
        assert ret[DEAD].startswith("Minion did not return. [No response]")
        assert "no permission" not in engine.log()
        token = send(engine, "/c/login", CRED)[1]["return"][0]["token"]
        # This user cannot write to the socket master_event_pull.ipc, so the runner event.send fires the event.
        assert send(engine, "/c/hook/x", {"a": 1}, token) == (200, {"success": True})


def test_the_responder_accepts_a_new_key_of_the_master(salt):
    with in_front(salt) as engine:
        check_calls_of_the_master(engine)
        pki = salt.home / "master/pki"
        before = [path.read_text() for path in pki.glob("*.pub")]
        salt.master.stop(signal.SIGTERM)
        for path in [*pki.glob("*.pem"), *pki.glob("*.pub")]:
            path.unlink()
        salt.master.start()
        salt.await_minions()
        engine.await_log("connected to the Salt master's event bus again")
        check_calls_of_the_master(engine)
        assert all(path.read_text() not in before for path in pki.glob("*.pub"))


def peak(engine):
    return int(engine.status("VmHWM")) * 1024


def test_a_job_returns_a_hundred_megabytes(salt):
    options = ["--ids", "big-", "--count", 100, "--size", MEGABYTE]
    simulated = SimulatedMinions(salt.folder, salt.master.config_path, salt.home / "simulated.log", *options)
    try:
        with in_front(salt) as engine:
            engine.run(local("test.ping", "big-*", timeout=60))
            before = peak(engine)
            (ret,) = engine.run(local("test.echo", "big-*", arg=["big"], timeout=60))
            assert len(ret) == 100 and set(ret.values()) == {"x" * MEGABYTE}
            assert peak(engine) - before < 3 * 100 * MEGABYTE
    finally:
        simulated.stop()


def test_minions_below_a_syndic_return():
    with running(SyndicatedSalt, minions=["below-0"]) as salt, in_front(salt) as engine:
        await_answers(engine, "below-0")
        for tgt, tgt_type in (("below-0", "glob"), (["below-0"], "list")):
            assert engine.run(local("test.ping", tgt, tgt_type=tgt_type)) == [{"below-0": True}]
        (all_returns,) = engine.run(local("test.ping", "*"))
        all_returns.pop("syndic-0", None)  # a master of 3008 also waits for a return of the syndic itself
        assert all_returns == {"below-0": True}
        (full,) = engine.run(local("test.ping", "*", full_return=True))
        assert full["below-0"]["ret"] is True and full["below-0"]["retcode"] == 0
