# SPDX-License-Identifier: MIT

import pytest
from rows import local
from support import salts
from support.daemon import Daemon
from support.jobs import runner
from support.process import wait_until

pytestmark = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)
PONG = {"ms-0": True, "ms-1": True, "ms-2.example.org": True}


def kept_in(etcd):
    return {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": False}


@pytest.fixture
def looked_up(etcd, directory):
    """Yields a function that looks up jobs through another rest_fcgi process with the same etcd."""
    home = directory / "looking"
    home.mkdir()
    daemon = Daemon(home, {"master_job_cache": "etcd", **kept_in(etcd)})
    yield lambda jid: runner(daemon.address, "jobs.lookup_jid", jid=jid)
    assert daemon.stop() == 0


def test_ext_job_cache_keeps_jobs_with_all_returns(start_engine, etcd, looked_up):
    engine = start_engine({"rest_fcgi": {"ext_job_cache": "etcd"}, **kept_in(etcd)})
    (ret,) = engine.run(local("test.ping"))
    assert ret == PONG

    def kept():
        return {key.split(b"/")[4].decode() for key in etcd.all("/salt/return/jobs/")}

    wait_until(lambda: any(looked_up(jid) == PONG for jid in kept()), "all returns are kept")
    (started,) = engine.run(local("test.sleep", arg=[1], client="local_async"))
    wait_until(lambda: looked_up(started["jid"]) == PONG, "an asynchronous job is kept")
