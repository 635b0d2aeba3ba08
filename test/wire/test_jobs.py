# SPDX-License-Identifier: MIT
"""Asynchronous jobs: they outlive their request, and can be looked up."""

import re
import signal

from support.api import chunk, local
from support.process import wait_until


def lookup(api, jid):
    return api.run(chunk("runner", "jobs.lookup_jid", jid=jid))[0]


def start_job(api, fun, **more):
    (ret,) = api.run({**local(fun, **more), "client": "local_async"})
    return ret["jid"]


def test_an_asynchronous_call_gives_its_job_and_who_was_asked(api):
    (ret,) = api.run({**local("test.ping"), "client": "local_async"})
    assert re.fullmatch(r"\d{20}", ret["jid"]) and ret["minions"] == ["ms-0", "ms-1", "ms-2"]


def test_an_asynchronous_call_that_matches_nobody_gives_an_empty_object(api):
    assert api.run({**local("test.ping", tgt="nosuch"), "client": "local_async"}) == [{}]


def test_a_job_can_be_looked_up_afterwards(api):
    jid = start_job(api, "test.ping")
    wait_until(lambda: lookup(api, jid) == {"ms-0": True, "ms-1": True, "ms-2": True}, "all returned")


def test_a_job_can_be_looked_up_while_it_runs(api):
    jid = start_job(api, "test.sleep", arg=[2])
    assert lookup(api, jid) == {}
    assert jid in api.run(chunk("runner", "jobs.active"))[0]
    wait_until(lambda: len(lookup(api, jid)) == 3, "all returned")
    assert jid not in api.run(chunk("runner", "jobs.active"))[0]


def test_jobs_are_listed_with_their_function_and_user_and_without_credentials(api):
    jid = start_job(api, "test.echo", arg=["listed"])
    (jobs,) = api.run(chunk("runner", "jobs.list_jobs"))
    assert jobs[jid]["Function"] == "test.echo" and jobs[jid]["User"] == "saltdev"
    assert not {"password", "eauth", "token"} & set(str(jobs[jid]).replace("'", " ").split())


def test_jids_ascend_and_are_never_the_same_in_two_processes(start, front):
    def jids(daemon):
        api = front(daemon)
        low = {**local("test.ping", tgt="ms-0"), "client": "local_async"}
        return [ret["jid"] for _ in range(5) for ret in api.run(*[low] * 20)]

    one, other = jids(start()), jids(start())
    assert one == sorted(one)
    assert len(set(one + other)) == 200


def test_shutdown_ends_a_running_job_within_its_time(start, front):
    daemon = start({"rest_fcgi": {"shutdown_timeout": 1}})
    start_job(front(daemon), "test.sleep", arg=[600])
    daemon.kill(signal.SIGTERM)
    assert daemon.wait(30) == 0
    assert "interrupted" in daemon.log()


def test_shutdown_lets_a_short_job_end(start, front):
    daemon = start()
    start_job(front(daemon), "test.sleep", arg=[1])
    daemon.kill(signal.SIGTERM)
    assert daemon.wait(30) == 0
    assert "interrupted" not in daemon.log()
