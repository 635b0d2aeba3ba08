# SPDX-License-Identifier: MIT
"""Functions that run processes, over the running program."""

import re
import signal

import pytest

from support.api import chunk, local
from support.daemon import NEEDS_PTRACE
from support.process import PATIENCE, gone, wait_until

TGT = "ms-0"


def call(api, fun, *arg, **kwarg):
    return api.run(local(fun, tgt=TGT, arg=list(arg), kwarg=kwarg))[0][TGT]


def retcode(api, fun, *arg, **kwarg):
    return api.run(local(fun, tgt=TGT, arg=list(arg), kwarg=kwarg, full_return=True))[0][TGT]["retcode"]


def test_a_command_runs_without_a_shell(api):
    assert call(api, "cmd.run", "echo $HOME; true | cat") == "$HOME; true | cat"


def test_a_shell_runs_it_where_python_shell_asks_for_one(api):
    assert call(api, "cmd.run", "echo a b | tr a-z A-Z", python_shell=True) == "A B"


def test_arguments_may_be_texts_as_on_a_command_line(api):
    assert call(api, "cmd.run", "pwd", "cwd=/usr") == "/usr"


def test_a_return_has_pid_retcode_and_both_outputs(api):
    ret = call(api, "cmd.run_all", "echo out; echo err >&2; exit 3", python_shell=True)
    assert ret.pop("pid") > 1
    assert ret == {"retcode": 3, "stdout": "out", "stderr": "err"}


def test_the_exit_status_is_the_minions_return_code(api):
    assert retcode(api, "cmd.run", "exit 3", python_shell=True) == 3
    assert retcode(api, "cmd.run", "exit 3", python_shell=True, ignore_retcode=True) == 0


def test_salt_issue_43891_bytes_that_are_no_text_do_not_break_the_reply(api):
    reply = api.post(local("cmd.run", tgt=TGT, arg=["printf '\\377\\001x'"], kwarg={"python_shell": True}))
    assert reply.status == 200 and reply.ret[0][TGT] == "\ufffd\x01x"
    assert reply.spaced_as_python


def test_much_output_comes_back_whole(api):
    assert len(call(api, "cmd.run", "head -c 3000000 /dev/zero | tr '\\0' x", python_shell=True)) == 3_000_000


def test_a_time_limit_ends_the_command_and_its_children(api, directory):
    marker = directory / "pid"
    for seconds in (1, 4, 16):  # on a busy host it may be over before the shell has begun
        ret = call(api, "cmd.run", f"sleep 1000 & echo $! > {marker}; wait", python_shell=True, timeout=seconds)
        assert ret.endswith(f" : Timed out after {seconds} seconds")
        if marker.exists() and marker.read_text():
            break
    wait_until(lambda: is_gone(marker), "the child is gone")


def is_gone(marker):
    """Has the process whose pid the file holds ended?"""
    if not marker.exists() or not marker.read_text().strip():
        return False
    return gone(marker.read_text().strip())


def test_a_job_that_is_killed_takes_its_command_along(api, directory):
    marker = directory / "pid"
    low = local("cmd.run", tgt=TGT, arg=[f"sleep 1000 & echo $! > {marker}; wait"], kwarg={"python_shell": True})
    jid = api.run({**low, "client": "local_async"})[0]["jid"]
    wait_until(lambda: marker.exists() and marker.read_text().strip(), "the command runs")
    assert "sent to job" in call(api, "saltutil.kill_job", jid)
    wait_until(lambda: is_gone(marker), "the child is gone")
    wait_until(lambda: TGT in api.run(chunk("runner", "jobs.list_job", jid=jid))[0]["Result"], "the job returned")


def test_shutdown_takes_commands_along(start, front, directory):
    daemon = start({"rest_fcgi": {"shutdown_timeout": 1}})
    marker = directory / "pid"
    low = local("cmd.run", tgt=TGT, arg=[f"sleep 1000 & echo $! > {marker}; wait"], kwarg={"python_shell": True})
    front(daemon).run({**low, "client": "local_async"})
    wait_until(lambda: marker.exists() and marker.read_text().strip(), "the command runs")
    daemon.kill(signal.SIGTERM)
    assert daemon.wait(30) == 0
    wait_until(lambda: is_gone(marker), "the child is gone")


@NEEDS_PTRACE
def test_no_descriptor_and_no_zombie_is_left_behind(start, front):
    daemon = start()
    api = front(daemon)
    call(api, "cmd.run", "true")
    before = daemon.open_files()
    for _ in range(20):
        call(api, "cmd.run", "cat", stdin="x")
        call(api, "cmd.run", "nosuch-program")
    wait_until(lambda: daemon.open_files() <= before + 2, "descriptors are closed again")
    children = open(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read().split()
    assert children == []


def test_a_command_gets_no_descriptor_of_the_server(api):
    assert call(api, "cmd.run", "ls /proc/self/fd") == "0\n1\n2\n3"  # 3 is the folder itself


def test_commands_run_side_by_side(api, tmp_path):
    all_wait = f"touch {tmp_path}/$$; while [ $(ls {tmp_path} | wc -l) -lt 3 ]; do sleep 0.01; done"
    ret = api.run(local("cmd.run", arg=[all_wait], kwarg={"python_shell": True, "timeout": PATIENCE}))[0]
    assert ret == {"ms-0": "", "ms-1": "", "ms-2": ""}


def test_what_cannot_be_honoured_is_refused_with_the_reason(api):
    ret = call(api, "cmd.run", "true", use_vt=True)
    assert ret == "ERROR executing 'cmd.run': The argument 'use_vt' is not supported: there is no terminal."


def test_a_program_that_is_missing_is_named(api):
    ret = call(api, "cmd.run", "nosuch-program a")
    assert ret.startswith("ERROR: Unable to run command '['nosuch-program', 'a']'")
    assert ret.endswith("reason: [Errno 2] No such file or directory: 'nosuch-program'")


def test_rules_see_the_command(start, front):
    daemon = start({"external_auth": {"file": {"bob": [{"*": [{"cmd.run": {"args": ["uptime|id( -un)?"]}}]}]}}})
    api = front(daemon)

    def status(*arg, **kwarg):
        return api.post({**local("cmd.run", tgt=TGT, arg=list(arg), kwarg=kwarg), "username": "bob"}).status

    assert status("id -un") == 200
    assert status("id -un; reboot") == 401
    assert status("cmd=id -un") == 401


@pytest.mark.parametrize("fun", ["service.status", "service.start"])
def test_units_are_named_strictly(api, fun):
    ret = call(api, fun, "--help")
    assert re.search("cannot be the name of a unit|booted with systemd|not found: systemctl", ret)
