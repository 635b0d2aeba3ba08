# SPDX-License-Identifier: MIT

import os
import re
import socket
import subprocess

import pytest

from support.daemon import BINARY, ROOT
from support.process import free_port, has_ended

DEMO = ROOT / "deploy/demo/demo.sh"


@pytest.fixture
def demo(directory):
    """Runs demo.sh with a new build folder and port. Example: demo("start")."""
    (directory / "rest_fcgi").symlink_to(BINARY)

    def run(verb):
        environment = {**os.environ, "BUILD": str(directory), "DEMO_PORT": str(run.port)}
        return subprocess.run(["sh", DEMO, verb], capture_output=True, text=True, timeout=120, env=environment)

    run.port, run.home = free_port(), directory / "demo"
    yield run
    run("stop")


def pid_of(demo, name):
    return int((demo.home / f"{name}.pid").read_text())


def test_the_demo_starts_twice_and_prints_working_commands(demo):
    for _ in range(2):
        result = demo("start")
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.count("$ curl -sS -i http://127.0.0.1:") == 3
        assert result.stdout.count("HTTP/1.1 200 OK") == 3
        sync, asynchronous, lookup, *_ = re.findall(r'^\{"return": .*$', result.stdout, re.MULTILINE)
        everyone = '{"ms-0": true, "ms-1": true, "ms-2": true, "ms-3": true, "ms-4": true}'
        assert sync == lookup == '{"return": [%s]}' % everyone
        assert re.search(r'"jid": "\d{20}"', asynchronous)
        assert "make demo-stop" in result.stdout
        login, minions, jobs = re.findall(r"^\$ curl -sS -f .*\n(.*)$", result.stdout, re.MULTILINE)
        assert '"user": "saltdev"' in login and minions.startswith('{"return": [{"ms-0": {"')
        assert jobs.startswith('{"return": [{"2') and "test.ping" in jobs
    command = re.search(r"\$ (curl .*?\n.*?\n.*?)\n", result.stdout, re.DOTALL)[1]
    typed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert '"ms-4": true' in typed.stdout


def test_the_demo_keeps_its_files_private_and_demo_stop_ends_its_processes(demo):
    demo("start")
    for name in ["passwords", "master"]:
        assert (demo.home / name).stat().st_mode & 0o077 == 0
    assert "saltdev:saltdev" not in (demo.home / "passwords").read_text()
    pids = [pid_of(demo, "nginx"), pid_of(demo, "rest_fcgi")]
    assert not any(has_ended(pid) for pid in pids)
    assert demo("stop").returncode == 0
    assert all(has_ended(pid) for pid in pids)
    assert demo("stop").stdout == ""


def test_the_demo_names_a_port_in_use(demo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", demo.port))
        taken.listen()
        result = demo("start")
    assert result.returncode != 0 and "DEMO_PORT" in result.stderr and str(demo.port) in result.stderr
