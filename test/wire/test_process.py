# SPDX-License-Identifier: MIT

import concurrent.futures
import json
import os
import re
import resource
import signal
import subprocess
import time

import pytest

from support import fastcgi
from support.api import Api, chunk, local
from support.process import free_port, wait_until
from support.supervised import Manager, worker_of


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


def send(daemon, fun, *arg):
    body = json.dumps([local(fun, tgt="ms-0", arg=list(arg))]).encode()
    reply = fastcgi.talk(daemon.address, fastcgi.request(body))
    return reply.status, reply.body


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "Z"


@pytest.fixture
def manager(directory, monkeypatch):
    made = Manager(directory)
    monkeypatch.setenv("NOTIFY_SOCKET", made.path)
    yield made
    made.close()


def exit_status(daemon):
    """Returns the exit status of the main process. A negative number is that of a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(daemon.pid, 0)[1])


def test_after_sigusr2_the_main_process_ends_at_once_and_running_requests_are_answered(manager, start):
    daemon = start()
    worker = worker_of(daemon.pid)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(send, daemon, "test.sleep", 4)
        wait_until(lambda: "test.sleep" in send(daemon, "saltutil.running")[1], "the job runs")
        begun = time.monotonic()
        os.kill(daemon.pid, signal.SIGUSR2)
        os.kill(daemon.pid, signal.SIGTERM)  # as systemd does after ExecStop=
        assert exit_status(daemon) == 0 and time.monotonic() - begun < 2
        with pytest.raises(OSError):
            send(daemon, "test.ping")
        before = len(manager.said())
        assert not running.done() and running.result()[0] == 200
    wait_until(lambda: is_gone(worker), "the worker ends")
    assert manager.said()[before:] == []
    assert not any("STOPPING" in said for said in manager.said())


def test_after_sigterm_the_main_process_waits_for_running_requests(manager, start):
    daemon = start()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(send, daemon, "test.sleep", 2)
        wait_until(lambda: "test.sleep" in send(daemon, "saltutil.running")[1], "the job runs")
        os.kill(daemon.pid, signal.SIGTERM)
        assert exit_status(daemon) == 0
        assert running.result()[0] == 200
    assert any("STOPPING=1" in said for said in manager.said())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_signal_that_ends_the_worker_ends_the_main_process(manager, start, number):
    daemon = start()
    os.kill(worker_of(daemon.pid), number)
    assert exit_status(daemon) == -number


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_no_worker_survives_its_main_process(manager, start, number):
    daemon = start()
    worker = worker_of(daemon.pid)
    os.kill(daemon.pid, number)
    assert exit_status(daemon) == -number
    wait_until(lambda: is_gone(worker), "the worker ends")


@pytest.mark.parametrize("client", ["local", "runner"])
def test_a_request_beyond_the_shutdown_timeout_gets_503_with_the_jid(start, client):
    port = free_port()
    metrics = Api("127.0.0.1", port)
    daemon = start({"rest_fcgi": {"shutdown_timeout": 2, "metrics": {"listen": f"127.0.0.1:{port}"}}})
    low = {**local("test.sleep", tgt="ms-0", arg=[600]), "timeout": 600} if client == "local" else chunk("runner", "test.sleep", arg=[600])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(fastcgi.talk, daemon.address, fastcgi.request(json.dumps([low]).encode()))
        wait_until(lambda: "rest_fcgi_jobs_running 1" in metrics.request("GET", "/metrics").text, "the job runs")
        begun = time.monotonic()
        os.kill(daemon.pid, signal.SIGTERM)
        reply = running.result()
    assert exit_status(daemon) == 0 and time.monotonic() - begun < 5
    assert reply.status == 503 and re.search(r"\b20\d{18}\b", reply.body), reply.body


def test_the_main_process_passes_sighup_on_and_has_no_files(manager, start):
    daemon = start()
    os.kill(daemon.pid, signal.SIGHUP)
    daemon.await_log("configuration reread")
    assert set(os.listdir(f"/proc/{daemon.pid}/fd")) <= {"1", "2"}


def test_the_status_says_what_ready_says(manager, start, directory):
    daemon = start()
    wait_until(lambda: any("STATUS=ready" in said for said in manager.said()), "the status says ready")
    assert any("READY=1" in said for said in manager.said())
