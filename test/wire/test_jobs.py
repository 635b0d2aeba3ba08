# SPDX-License-Identifier: MIT

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


def test_salt_issue_43095_list_jobs_shows_function_and_user_but_no_credentials(api):
    jid = start_job(api, "test.echo", arg=["listed"])
    (jobs,) = api.run(chunk("runner", "jobs.list_jobs"))
    assert jobs[jid]["Function"] == "test.echo" and jobs[jid]["User"] == "saltdev"
    assert not {"password", "eauth", "token"} & set(str(jobs[jid]).replace("'", " ").split())


def saltutil(api, fun, *arg):
    return api.run(local(f"saltutil.{fun}", tgt="ms-0", arg=list(arg)))[0]["ms-0"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount /proc anew and start programs as another user")
def test_a_job_of_a_process_hidden_in_proc_stays_active(start, directory):
    """ProtectProc=invisible of systemd hides processes that are not dumpable from other processes of the same user."""
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


def test_a_running_job_is_active_until_kill_job_ends_it_with_a_return(api):
    jid = start_job(api, "test.sleep", tgt="ms-0", arg=[600])
    assert lookup(api, jid) == {} and jid in api.run(chunk("runner", "jobs.active"))[0]
    assert saltutil(api, "find_job", jid)["fun"] == "test.sleep"
    assert re.fullmatch(rf"Signal 9 sent to job {jid} at pid \d+", saltutil(api, "kill_job", jid))
    wait_until(lambda: "terminated" in lookup(api, jid).get("ms-0", ""), "it returned")
    wait_until(lambda: saltutil(api, "find_job", jid) == {}, "it runs no more")
    assert jid not in api.run(chunk("runner", "jobs.active"))[0]
