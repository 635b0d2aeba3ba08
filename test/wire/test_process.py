# SPDX-License-Identifier: MIT

import os
import resource
import signal
import subprocess

import pytest

from support.api import chunk, local


def test_sighup_loads_a_new_configuration(daemon, nginx):
    assert nginx.post(chunk("wheel", "key.list_all")).status == 200
    daemon.configure({"netapi_enable_clients": ["local"]})
    daemon.kill(signal.SIGHUP)
    daemon.await_log("configuration reread")
    reply = nginx.post(chunk("wheel", "key.list_all"))
    assert reply.status == 400 and reply.ret.startswith("Client disabled: 'wheel'")
    assert nginx.post(local("test.ping")).status == 200


@pytest.fixture
def with_cores():
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("RLIMIT_CORE is 0")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_cve_2025_4598_a_crash_leaves_no_core(start, with_cores, directory):
    daemon, other = start(), subprocess.Popen(["sleep", "60"], cwd=directory)
    os.kill(other.pid, signal.SIGABRT)
    if not os.WCOREDUMP(os.waitpid(other.pid, 0)[1]):
        pytest.skip("this host keeps no cores")
    os.kill(daemon.pid, signal.SIGABRT)
    _, status = os.waitpid(daemon.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGABRT and not os.WCOREDUMP(status)
