# SPDX-License-Identifier: MIT

import os
import shutil
import signal

import pytest
from support.api import local
from support.daemon import BINARY
from support.jobs import call, runner


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
