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
    jid = start_job(api, "test.sleep", arg=[10])
    assert lookup(api, jid) == {}
    assert jid in api.run(chunk("runner", "jobs.active"))[0]
    wait_until(lambda: len(lookup(api, jid)) == 3, "all returned")
    wait_until(lambda: jid not in api.run(chunk("runner", "jobs.active"))[0], "it runs no more")


def test_salt_issue_43095_jobs_are_listed_with_their_function_and_user_and_without_credentials(api):
    jid = start_job(api, "test.echo", arg=["listed"])
    (jobs,) = api.run(chunk("runner", "jobs.list_jobs"))
    assert jobs[jid]["Function"] == "test.echo" and jobs[jid]["User"] == "saltdev"
    assert not {"password", "eauth", "token"} & set(str(jobs[jid]).replace("'", " ").split())


def saltutil(api, fun, *arg):
    return api.run(local(f"saltutil.{fun}", tgt="ms-0", arg=list(arg)))[0]["ms-0"]


def test_a_job_that_is_killed_says_so(api):
    jid = start_job(api, "test.sleep", tgt="ms-0", arg=[600])
    assert saltutil(api, "find_job", jid)["fun"] == "test.sleep"
    assert re.fullmatch(rf"Signal 9 sent to job {jid} at pid \d+", saltutil(api, "kill_job", jid))
    wait_until(lambda: "terminated" in lookup(api, jid).get("ms-0", ""), "it returned")
    wait_until(lambda: saltutil(api, "find_job", jid) == {}, "it runs no more")


def test_jobs_are_listed_page_by_page(api):
    jids = [start_job(api, "test.echo", arg=[number]) for number in range(4)]
    page = api.run(chunk("runner", "jobs.list_jobs", limit=2, before=jids[3], search_function="test.echo"))[0]
    assert list(page) == jids[1:3]


def two_processes(start, front, directory):
    """Two responders that show each other their jobs."""
    shared = {"rest_fcgi": {"embedded": {"proc_dir": str(directory / "shared")}, "shutdown_timeout": 0}}
    daemons = [start(shared), start(shared)]
    return daemons, [front(daemon) for daemon in daemons]


def test_one_process_sees_and_kills_the_jobs_of_another(start, front, directory):
    (one, _), (first, second) = two_processes(start, front, directory)
    jid = start_job(first, "test.sleep", tgt="ms-0", arg=[600])
    active = second.run(chunk("runner", "jobs.active"))[0]
    assert active[jid]["Running"] == [{"ms-0": one.pid}]
    assert saltutil(second, "kill_job", jid) == f"Signal 9 sent to job {jid} at pid {one.pid}"
    wait_until(lambda: "terminated" in lookup(first, jid).get("ms-0", ""), "it returned")
    wait_until(lambda: second.run(chunk("runner", "jobs.active"))[0] == {}, "nothing runs")


def test_a_job_that_is_killed_with_its_process_leaves_a_trace(start, front, directory):
    (one, other), (first, second) = two_processes(start, front, directory)
    jid = start_job(first, "test.sleep", arg=[600])
    assert jid in second.run(chunk("runner", "jobs.active"))[0]
    one.kill(signal.SIGKILL)
    one.wait(30)
    wait_until(lambda: jid not in second.run(chunk("runner", "jobs.active"))[0], "its process is gone")
    returns = lookup(second, jid)
    assert sorted(returns) == ["ms-0", "ms-1", "ms-2"]
    assert all("Job interrupted" in ret for ret in returns.values())
    assert f"job {jid} was interrupted" in other.log()


def test_a_returner_that_is_not_here_is_refused(api):
    reply = api.post(local("test.ping", ret="smtp"))
    assert reply.status == 400 and "'ret' names the returner 'smtp'" in reply.ret


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
