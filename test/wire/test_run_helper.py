# SPDX-License-Identifier: MIT
"""rest_fcgi_run, which starts the programs of jobs."""

import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from support import daemon as daemons
from support.api import local
from support.modules import TGT, call
from support.process import Process, has_ended, socket_of, wait_until

HELPER = daemons.BINARY.parent / "rest_fcgi_run"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a helper as another user")

# The script of a job starts a child in its process group, a daemon in a new session, and a child of the daemon.
TREE = """
    sleep 1000 & echo $! > child
    setsid sh -c 'sleep 1000 & echo $! > grandchild; echo $$ > daemon; wait' </dev/null >/dev/null 2>&1 &
    until [ -s daemon ]; do sleep 0.01; done
    touch all
"""


class Tree:
    """The processes of the script TREE. They write their pids to a folder."""

    def __init__(self, directory):
        self.folder = directory / "tree"
        self.folder.mkdir()

    def start(self, api, then, **kwarg):
        low = local("cmd.run", tgt=TGT, arg=[TREE + then], kwarg={"python_shell": True, "cwd": str(self.folder), **kwarg})
        jid = api.run({**low, "client": "local_async"})[0]["jid"]
        wait_until((self.folder / "all").exists, "the process tree runs")
        return jid

    def left(self):
        pids = [(self.folder / name).read_text().strip() for name in ("child", "grandchild", "daemon")]
        return [pid for pid in pids if not has_ended(pid)]


@pytest.fixture
def tree(directory):
    return Tree(directory)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_or_killed_responder_leaves_no_process_of_a_job(start, front, tree, how):
    daemon = start({"rest_fcgi": {"shutdown_timeout": 0}})
    tree.start(front(daemon), "trap '' TERM; while :; do sleep 1; done")
    daemon.kill(how)
    daemon.wait(30)
    wait_until(lambda: tree.left() == [], "the process tree has ended")


@daemons.NEEDS_PTRACE
def test_commands_leave_no_descriptor_and_no_zombie(start, front):
    daemon = start()
    api = front(daemon)
    call(api, "cmd.run", "true")
    before = daemon.open_files()
    for _ in range(20):
        call(api, "cmd.run", "cat", stdin="x")
        call(api, "cmd.run", "nosuch-program")
    wait_until(lambda: daemon.open_files() <= before + 2, "descriptors are closed again")
    assert open(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read().split() == []


@pytest.fixture
def activated(directory, keep):
    """Listens on a socket and starts a helper for each connection. Example: activated("--peer", "root")."""

    def starter(*args, before=(), program=HELPER):
        address = str(directory / "run.sock")
        argv = ["systemd-socket-activate", "-l", address, "--accept", "--inetd", *before, program, *args]
        keep(Process(argv, directory / "run.log", address))
        return address

    return starter


def test_jobs_run_behind_a_socket_and_end_with_the_server(start, front, tree, activated):
    daemon = start({"rest_fcgi": {"embedded": {"run_helper": f"unix:{activated('--peer', pwd.getpwuid(os.geteuid()).pw_name)}"}}})
    api = front(daemon)
    assert call(api, "cmd.run", "echo a b", python_shell=True) == "a b"
    tree.start(api, "wait")
    daemon.kill(signal.SIGKILL)
    daemon.wait(30)
    wait_until(lambda: tree.left() == [], "the process tree has ended")


@NEEDS_ROOT
def test_a_job_cannot_read_files_of_the_responder(start, front, directory, activated):
    """The helper runs as another user, as in the installed units."""
    helper = directory / "rest_fcgi_run"
    shutil.copy(HELPER, helper)
    directory.chmod(0o755)
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    daemon = start({"rest_fcgi": {"embedded": {"run_helper": f"unix:{activated(before=other, program=helper)}"}}})
    api = front(daemon)
    assert call(api, "cmd.run", "id -u; echo err > /dev/stderr", cwd="/", python_shell=True) == "65534\nerr"
    secrets = directory / "secrets"
    secrets.mkdir(mode=0o700)
    assert "Permission denied" in call(api, "cmd.run", f"ls {secrets}", cwd="/")
    refused = call(api, "cmd.run", "id -u", cwd="/", runas="root")
    assert refused.endswith("only a process of root may change its user.")


def helper(*args, **options):
    return subprocess.run([HELPER, *args], capture_output=True, timeout=30, **options)


@pytest.mark.parametrize("user, status", [("daemon", 76), ("root", 76), ("nobody", 77)])
def test_the_run_helper_obeys_the_named_peer_and_root_only(user, status):
    """The order is malformed, so a permitted peer gets the status 76. Another peer gets 77."""
    with socket_of(user) as connection:
        result = helper("--peer", "daemon", stdin=connection)
    assert result.returncode == status, result


@pytest.mark.parametrize("args", [["--nosuch", "x"], ["--peer"], ["--peer", ""], ["x"]])
def test_an_unknown_argument_prints_the_usage(args):
    result = helper(*args)
    assert result.returncode == 64 and result.stderr.startswith(b"Usage: rest_fcgi_run")


def test_the_run_helper_refuses_input_that_is_not_a_socket():
    result = helper("--peer", "nobody", input=b"")
    assert result.returncode == 77
    assert b"refused: standard input must be a socket with the user nobody or root at its other end" in result.stderr


@pytest.mark.parametrize(
    "what", [b"", b"\0", b"\xff\xff\xff\xff", struct.pack("=I", 4) + b"none", struct.pack("=I", 100) + b"cut off"]
)
def test_a_malformed_order_ends_the_run_helper(what):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(what)
        ours.shutdown(socket.SHUT_WR)
        result = helper(stdin=theirs)
    assert result.returncode == 76
    assert result.stderr.startswith(b"rest_fcgi_run: found a malformed request") and result.stderr.count(b"\n") == 1
