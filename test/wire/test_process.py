# SPDX-License-Identifier: MIT

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading

import pytest

from support import daemon as daemons
from support import fastcgi
from support.api import chunk, local
from support.process import TIMEOUT, Process, join, wait_until


def in_background(function, *args):
    result = []
    thread = threading.Thread(target=lambda: result.append(function(*args)))
    thread.start()

    def wait():
        join([thread])
        return result[0]

    return wait


# An hour is longer than a test may run, so a test fails if the responder waits for the whole timeout.
LONG_SHUTDOWN = {"rest_fcgi": {"shutdown_timeout": 3600}}


def await_job(daemon):
    active = fastcgi.request(json.dumps([chunk("runner", "jobs.active")]).encode())
    wait_until(lambda: json.loads(fastcgi.talk(daemon.address, active).body)["return"] != [{}], "a job runs")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_mapserver_issue_7504_an_idle_process_ends_at_once_with_status_0(start, number):
    daemon = start(LONG_SHUTDOWN)
    daemon.kill(number)
    assert daemon.wait() == 0
    assert not os.path.exists(daemon.address)


def test_a_running_request_is_answered_before_the_end(start, front):
    daemon = start(LONG_SHUTDOWN)
    reply = in_background(front(daemon).post, local("test.sleep", arg=[3]))
    await_job(daemon)
    daemon.kill(signal.SIGTERM)
    assert daemon.wait(2 * TIMEOUT) == 0
    assert reply().ret == [{"ms-0": True, "ms-1": True, "ms-2": True}]


def test_the_process_ends_after_the_shutdown_timeout(start, front):
    daemon = start({"rest_fcgi": {"shutdown_timeout": 1}})
    reply = in_background(front(daemon).post, local("test.sleep", arg=[600]))
    await_job(daemon)
    daemon.kill(signal.SIGTERM)
    assert daemon.wait() == 0
    # The process may end before it sends the reply. nginx then answers 502.
    ended = reply()
    assert ended.status == 502 or "Job interrupted: the engine shut down before it ended." in ended.text
    assert "1 requests did not end within shutdown_timeout" in daemon.log()


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


PARTS = ["environ", "maps", "auxv"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_other_processes_of_the_same_user_cannot_read_the_memory(directory, with_cores):
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    program, address = directory / "rest_fcgi", str(directory / "fcgi.sock")
    shutil.copy(daemons.BINARY, program)
    config = directory / "master"
    config.write_text(json.dumps(daemons.master_config(directory)))
    for path in (directory, *directory.iterdir()):
        os.chown(path, 65534, 65534)

    def denied(pid):
        """Returns the files of /proc/PID that a process of the same user cannot read."""
        reads = {part: [*as_nobody, "cat", f"/proc/{pid}/{part}"] for part in PARTS}
        return [part for part in PARTS if subprocess.run(reads[part], capture_output=True).returncode != 0]

    process = Process([*as_nobody, program, "--config", config], directory / "log", address)
    try:
        assert denied(process.pid) == PARTS
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits), limits
    finally:
        assert process.stop() == 0
    with subprocess.Popen([*as_nobody, "sleep", "60"]) as other:
        try:
            wait_until(lambda: b"sleep" in pathlib.Path(f"/proc/{other.pid}/comm").read_bytes(), "it runs")
            assert denied(other.pid) == [], "another one's can be read: else this shows nothing"
        finally:
            other.kill()


def test_cve_2025_4598_a_crash_leaves_no_core(start, with_cores, directory):
    daemon, other = start(), subprocess.Popen(["sleep", "60"], cwd=directory)
    os.kill(other.pid, signal.SIGABRT)
    if not os.WCOREDUMP(os.waitpid(other.pid, 0)[1]):
        pytest.skip("this host keeps no cores")
    os.kill(daemon.pid, signal.SIGABRT)
    _, status = os.waitpid(daemon.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGABRT and not os.WCOREDUMP(status)
