# SPDX-License-Identifier: MIT

import json
import time
import types

import pytest
from support.api import local
from support.daemon import LONG, SANITIZED, merge
from support.jobs import Clients, call, runner
from support.process import TIMEOUT, wait_until
from support.rest import api_of, login, serving, session

JOBS = 2000 if LONG else 50  # `JOBS` is the number of asynchronous jobs that each process answers.


@pytest.fixture
def four(start, directory):
    """Four processes with one `cachedir`. A client sends jobs to each process."""
    both = {"cachedir": str(directory / "cache"), "rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}}
    served = [merge(serving(), both) for _ in range(4)]
    daemons = [start(one) for one in served]
    load = [Clients(1) for _ in daemons]
    for clients, daemon in zip(load, daemons):
        clients.aim_at(daemon.address)
    addresses = [daemon.address for daemon in daemons]
    yield types.SimpleNamespace(daemons=daemons, addresses=addresses, apis=list(map(api_of, served)), load=load)
    for clients in load:
        clients.stop()


def test_each_of_four_processes_finds_every_job_once(four):
    wait_until(lambda: all(len(clients.jobs) > JOBS for clients in four.load), "each process has answered jobs", 4 * TIMEOUT)
    for clients in four.load:
        clients.stop()
    answered = [jid for clients in four.load for jid in clients.jobs]
    words = {word for clients in four.load for word in clients.words}
    assert answered and len(answered) == len(set(answered))
    for address in four.addresses:
        jobs = runner(address, "jobs.list_jobs")
        assert set(answered) <= jobs.keys()
        said = [argument for job in jobs.values() if job["Function"] == "test.arg" for argument in job["Arguments"]]
        assert words <= set(said)


def test_a_logout_takes_effect_in_all_processes_within_a_second(four):
    kept, ended = login(four.apis[0]), login(four.apis[0])

    def statuses(token):
        return [api.request("GET", "/minions/ms-0", headers=session(token)).status for api in four.apis]

    assert statuses(kept) == statuses(ended) == [200] * 4
    assert four.apis[1].request("POST", "/logout", headers=session(ended)).status == 200
    began = time.monotonic()
    wait_until(lambda: statuses(ended) == [401] * 4, "all processes refuse the token")
    assert time.monotonic() - began < (5 if SANITIZED else 2)
    assert statuses(kept) == [200] * 4


def test_every_process_lists_and_kills_the_jobs_of_all(four):
    slow = local("test.sleep", tgt="ms-0", arg=[600])
    jids = [call(address, {**slow, "client": "local_async"})[0]["jid"] for address in four.addresses]
    for address in four.addresses:
        assert set(jids) <= runner(address, "jobs.active").keys()
    for jid, address in zip(jids, [*four.addresses[1:], four.addresses[0]]):
        kill = {"client": "local", "tgt": "ms-0", "fun": "saltutil.kill_job", "arg": [jid]}
        assert jid in json.dumps(call(address, kill))
    for address in four.addresses:
        wait_until(lambda address=address: not set(jids) & runner(address, "jobs.active").keys(), "the jobs are ended")


def test_jobs_of_a_killed_process_become_interrupted(four):
    jid = call(four.addresses[0], {**local("test.sleep", tgt="ms-0", arg=[600]), "client": "local_async"})[0]["jid"]
    assert jid in runner(four.addresses[1], "jobs.active")
    four.load[0].aim_at(None)
    four.daemons[0].kill(9)
    four.daemons[0].wait()
    wait_until(lambda: jid not in runner(four.addresses[1], "jobs.active"), "its job is gone")
    (returned,) = runner(four.addresses[2], "jobs.lookup_jid", jid=jid).values()
    assert "interrupted" in returned
