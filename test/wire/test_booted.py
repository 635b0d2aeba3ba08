# SPDX-License-Identifier: MIT
"""The service as it is installed, on a host that was booted: no job, module or command reaches what is the responder's."""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import socket

import pytest

from support import fastcgi
from support.api import CRED
from support.booted import Booted, BootFailed
from support.daemon import ROOT, merge
from support.process import short_directory, wait_until

THIEF = pathlib.Path(__file__).with_name("support") / "thief.py"
SECRET = "s3cret-of-the-responder"
OWN = ["/etc/rest_fcgi", "/var/lib/rest_fcgi", "/var/log/rest_fcgi", "/srv/modules", "/dev/shm"]
SOCKETS = [*(f"/run/rest_fcgi/{name}.sock" for name in ("pam", "run", "rest_fcgi")), "/run/systemd/private"]


def settings():
    return {
        "netapi_enable_clients": ["local", "runner"],
        "sharedsecret": SECRET,
        "external_auth": {"file": {"^filename": "/etc/rest_fcgi/users", "^hashtype": "sha256", "saltdev": [".*", "@runner"]}},
        "cachedir": "/var/lib/rest_fcgi",
        "log_file": "/var/log/rest_fcgi/log",
        "rest_fcgi": {
            "listen": "fd:0",
            "pam_helper": "unix:/run/rest_fcgi/pam.sock",
            "embedded": {
                "run_helper": "unix:/run/rest_fcgi/run.sock",
                "minions": {"ms-0": {}},
                "module_dirs": ["/srv/modules"],
            },
        },
    }


class Host:
    """The booted host, with a session and a connection to the helper of passwords."""

    def __init__(self, booted):
        self.booted = booted
        booted.run("chown", "root:rest_fcgi", "/etc/rest_fcgi/users")
        booted.run("chmod", "640", "/etc/rest_fcgi/users")
        booted.run("systemctl", "start", "rest_fcgi-pam.socket", "rest_fcgi-run.socket", "rest_fcgi.socket", "rest_fcgi.service")
        self.address = str(booted.outside("/run/rest_fcgi/rest_fcgi.sock"))
        self.run("test.ping")
        argv = ["/usr/bin/rest_fcgi", "--config", "/etc/rest_fcgi/master", "--mk-token", "file:saltdev"]
        booted.run("setpriv", "--reuid=rest_fcgi", "--regid=rest_fcgi", "--clear-groups", *argv, stdin=CRED["password"] + "\n")

    def run(self, fun, *arg, **kwarg):
        low = {**CRED, "client": "local", "tgt": "ms-0", "fun": fun, "arg": list(arg), "kwarg": kwarg}
        answer = fastcgi.talk(self.address, fastcgi.request(json.dumps([low]).encode()))
        assert answer.status == 200, (answer.status, answer.body, self.booted.run("systemctl", "status", "rest_fcgi*", check=False))
        return json.loads(answer.body)["return"][0]["ms-0"]

    def pid(self, unit):
        return int(self.booted.run("systemctl", "show", "-P", "MainPID", unit))

    def files(self):
        """What is the responder's, by content, mode and owner; not what it writes while it answers."""
        found = self.booted.run("find", *OWN, "-type", "f").split()
        assert {"/etc/rest_fcgi/master", "/etc/rest_fcgi/users"} <= set(found) and any("token" in path for path in found), found
        return sorted(found)

    def kept(self, files):
        def state(path):
            there = self.booted.outside(path)
            status = there.stat()
            return hashlib.sha256(there.read_bytes()).hexdigest(), status.st_mode, status.st_uid, status.st_gid

        return {path: state(path) for path in files}


@pytest.fixture(scope="module")
def host():
    directory = short_directory()
    digest = hashlib.sha256(CRED["password"].encode()).hexdigest()
    loader = "usr/local/lib/rest_fcgi/module_loader.py"  # where a program that was built for no prefix looks for it
    files = {loader: (ROOT / "deploy/module_loader.py").read_text(), "srv/modules/thief.py": THIEF.read_text(), "etc/rest_fcgi/users": f"{CRED['username']}:{digest}\n"}
    try:
        booted = Booted(directory, json.dumps(settings()), files)
    except BootFailed as error:
        shutil.rmtree(directory)
        pytest.skip(f"no host can be booted here: {error}")
    try:
        yield Host(booted)
    finally:
        booted.stop()
        shutil.rmtree(directory)


@pytest.fixture
def conversation(host):
    """Somebody's conversation with PAM, under way; the number of its process."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(host.booted.outside("/run/rest_fcgi/pam.sock")))
        wait_until(lambda: "rest_fcgi-pam@" in host.booted.run("systemctl", "list-units", "--plain", "rest_fcgi-pam@*"), "it runs")
        unit = re.search(r"rest_fcgi-pam@\S+", host.booted.run("systemctl", "list-units", "--plain", "rest_fcgi-pam@*"))[0]
        yield host.pid(unit)


def as_module(host, plan):
    return host.run("thief.attempts", **plan)


def as_command(host, plan):
    return json.loads(host.run("cmd.run", f"python3 /srv/modules/thief.py '{json.dumps(plan)}'", python_shell=True))


def is_allowed(name):
    """What a job may, since it has to: it reads the code that it runs, and /dev/shm is everybody's."""
    return name == "read /srv/modules/thief.py" or name.startswith("make a file beside /dev/shm/")


@pytest.mark.parametrize("attack", [as_module, as_command])
def test_no_job_reaches_what_is_the_responders(host, conversation, attack):
    files = host.files()
    still = [path for path in files if "jobs" not in path and "/log/" not in path and "shm" not in path]
    before = host.kept(still)
    uid = int(host.booted.run("id", "-u", "rest_fcgi"))
    pids = [host.pid("rest_fcgi.service"), conversation]
    assert all(pids)
    outcome = attack(host, {"files": files, "sockets": SOCKETS, "pids": pids, "uid": uid})
    assert isinstance(outcome, dict), outcome
    assert len(outcome) > 10 * len(files)
    assert [name for name, what in outcome.items() if what == "done" and not is_allowed(name)] == [], outcome
    assert host.kept(still) == before and host.files() == files
    assert host.pid("rest_fcgi.service") == pids[0] and host.run("test.ping") is True


def test_each_of_these_attempts_works_where_nothing_forbids_it(host):
    host.booted.run("sh", "-c", "mkdir /var/lib/decoy; echo decoy > /var/lib/decoy/file")
    sleeper = int(host.booted.run("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"))
    uid = int(host.booted.run("id", "-u", "rest_fcgi"))
    plan = {"files": ["/var/lib/decoy/file"], "sockets": SOCKETS, "pids": [sleeper], "uid": uid}
    try:
        outcome = json.loads(host.booted.run("/usr/bin/python3", "/srv/modules/thief.py", json.dumps(plan)))
    finally:
        host.booted.run("systemctl", "start", "rest_fcgi.service")
    assert len(outcome) > 30 and set(outcome.values()) == {"done"}, outcome


def test_what_a_job_runs_as_has_nothing(host):
    uid, status = host.run("thief.whoami")
    assert uid == int(host.booted.run("id", "-u", "rest_fcgi_run"))
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(int(fields[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    groups = {int(group) for group in fields["Groups"].split()} | {int(fields["Gid"].split()[0])}
    assert int(host.booted.run("id", "-g", "rest_fcgi")) not in groups


# Starts programs that do nothing, until it may start no more.
MANY = """
import os, time
started = []
try:
    while len(started) < 2000:
        pid = os.fork()
        if pid == 0:
            os.closerange(0, 100)
            time.sleep(600)
        started.append(pid)
except OSError:
    pass
print(len(started))
"""


def test_a_job_that_starts_programs_without_end_is_stopped_and_ends_with_all_of_them(host):
    limits = host.booted.outside("/sys/fs/cgroup/pids/system.slice")
    if not limits.is_dir():
        pytest.skip("no cgroups of version 1 with the controller pids, which is where this looks")
    started = int(host.run("cmd.run", f"python3 -c '{MANY}'", python_shell=True))
    assert 100 < started < 256
    wait_until(lambda: not list(limits.glob("system-rest_fcgi*/*run@*")), "the job's cgroup is gone")
    assert host.run("test.ping") is True


def test_the_responder_can_open_no_privilege(host):
    status = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(int(fields[name], 16) == 0 for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    limits = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/limits")
    assert re.search(r"Max core file size +0 +0 ", limits)


ASK = "while [ ! -e /tmp/done ]; do curl -sS -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8000/ || echo failed; done"


def test_systemd_holds_the_port_of_http_while_the_service_is_started_again(host):
    """The port is that of rest_fcgi-http.socket as it is installed."""
    booted, config = host.booted, host.booted.outside("/etc/rest_fcgi/master")
    before = config.read_text()
    changes = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}, "rest_cherrypy": {"port": 8000, "disable_ssl": True}}
    try:
        config.write_text(json.dumps(merge(settings(), changes)))
        booted.run("ip", "link", "set", "lo", "up")
        booted.run("systemctl", "stop", "rest_fcgi.socket", "rest_fcgi.service")  # no socket starts before a service that runs
        booted.run("systemctl", "start", "rest_fcgi-http.socket", "rest_fcgi.socket", "rest_fcgi.service")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(booted.run, "sh", "-c", ASK)
            for _ in range(3):
                assert host.run("test.ping") is True
                booted.run("systemctl", "restart", "rest_fcgi.service")
            booted.run("touch", "/tmp/done")
        statuses = asked.result().split()
        assert len(statuses) > 3 and set(statuses) == {"200"}
    finally:
        config.write_text(before)
        booted.run("systemctl", "stop", "rest_fcgi-http.socket")
        booted.run("systemctl", "restart", "rest_fcgi.service")


def test_a_responder_that_is_killed_is_started_again(host):
    first = host.pid("rest_fcgi.service")
    host.booted.run("kill", "-KILL", str(first))
    assert host.run("test.ping") is True  # who connects waits in the socket
    assert host.pid("rest_fcgi.service") not in (0, first)
