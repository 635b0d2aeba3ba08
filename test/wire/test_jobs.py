# SPDX-License-Identifier: MIT
"""Asynchronous jobs: they outlive their request, and can be looked up."""

import concurrent.futures
import os
import re
import shutil
import signal

import pytest
from support.api import chunk, local
from support.daemon import BINARY
from support.jobs import call, runner
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


@pytest.fixture
def processes(start, front, directory):
    """Four responders with one cachedir, each with its API."""
    shared = {"cachedir": str(directory / "shared"), "rest_fcgi": {"shutdown_timeout": 0}}
    daemons = [start(shared) for _ in range(4)]
    return [(daemon, front(daemon)) for daemon in daemons]


def active(api):
    return api.run(chunk("runner", "jobs.active"))[0]


def test_each_process_sees_the_jobs_of_all_and_kills_those_of_another(processes):
    pids = [daemon.pid for daemon, _ in processes]
    jids = [start_job(api, "test.sleep", tgt="ms-0", arg=[600]) for _, api in processes]
    for _, api in processes:
        assert {jid: job["Running"] for jid, job in active(api).items()} == {
            jid: [{"ms-0": pid}] for jid, pid in zip(jids, pids)
        }
        assert [job["jid"] for job in saltutil(api, "running")] == jids
        assert saltutil(api, "find_job", jids[0])["pid"] == pids[0]
    ended = dict(zip(jids, ["kill_job", "term_job", "signal_job"]))
    for number, (jid, fun) in enumerate(ended.items()):
        _, api = processes[number + 1]
        sent = saltutil(api, fun, jid, *[15] * (fun == "signal_job"))
        assert sent.endswith(f"sent to job {jid} at pid {pids[number]}")
    _, last = processes[3]
    for jid in ended:
        wait_until(lambda: "terminated" in lookup(last, jid).get("ms-0", ""), "it returned", 3)
    for _, api in processes:
        wait_until(lambda: set(active(api)) == {jids[3]}, "the other job runs")


def test_a_job_of_a_process_that_is_killed_is_recorded_as_interrupted_once(processes):
    (killed, first), *others = processes
    jid = start_job(first, "test.sleep", arg=[600])
    kept = start_job(others[0][1], "test.sleep", arg=[600])
    assert all(jid in active(api) for _, api in others)
    killed.kill(signal.SIGKILL)
    killed.wait(30)
    for _, api in others:
        assert set(active(api)) == {kept}
    returns = lookup(others[0][1], jid)
    assert sorted(returns) == ["ms-0", "ms-1", "ms-2"]
    assert all("Job interrupted" in ret for ret in returns.values())
    assert sum(daemon.log().count(f"job {jid} was interrupted") for daemon, _ in others) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount /proc anew and start programs as another user")
def test_a_job_of_a_process_that_proc_does_not_show_runs_on(start, directory):
    """systemd's ProtectProc=invisible hides processes that are not dumpable, also from others of the same user."""
    program, wrapper = directory / "rest_fcgi", directory / "wrapper"
    shutil.copy(BINARY, program)
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all"
    mount = f"mount -t proc -o hidepid=invisible proc /proc && chown -R 65534:65534 {directory}"
    wrapper.write_text(f"#!/bin/sh\nexec unshare -m sh -c '{mount} && exec {as_nobody} {program} \"$@\"' sh \"$@\"\n")
    wrapper.chmod(0o755)
    shared = {"cachedir": str(directory / "shared"), "rest_fcgi": {"shutdown_timeout": 0}}
    one, other = (start(shared, binary=wrapper) for _ in range(2))
    slow = {**local("test.sleep", tgt="ms-0", arg=[600]), "client": "local_async"}
    jid = call(one.address, slow)[0]["jid"]
    assert jid in runner(other.address, "jobs.active")
    one.kill(signal.SIGKILL)
    one.wait(30)
    assert jid not in runner(other.address, "jobs.active")
    assert other.log().count(f"job {jid} was interrupted") == 1


def test_a_returner_that_is_not_here_is_refused(api):
    reply = api.post(local("test.ping", ret="smtp"))
    assert reply.status == 400 and "'ret' names the returner 'smtp'" in reply.ret


def test_jids_ascend_and_are_never_the_same_in_two_processes(processes):
    def jids(process):
        _, api = process
        low = {**local("test.ping", tgt="ms-0"), "client": "local_async"}
        return [ret["jid"] for _ in range(5) for ret in api.run(*[low] * 20)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        all_jids = list(pool.map(jids, processes))
    assert all(some == sorted(some) for some in all_jids)
    assert len({jid for some in all_jids for jid in some}) == 400


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
