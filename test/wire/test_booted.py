# SPDX-License-Identifier: MIT
"""The installed service on a booted host. Jobs and modules do not reach files or processes of rest_fcgi."""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import resource
import shutil
import socket

import pytest

from support import fastcgi
from support.api import CRED
from support.booted import Booted, BootFailed
from support.daemon import merge
from support.process import TIMEOUT, short_directory, wait_until

THIEF = pathlib.Path(__file__).with_name("support") / "thief.py"
SECRET = "s3cret-of-the-responder"
OWN = ["/etc/rest_fcgi", "/var/lib/rest_fcgi", "/var/log/rest_fcgi", "/srv/modules", "/dev/shm"]
SERVICE, FASTCGI, HTTP = "rest_fcgi.service", "rest_fcgi.socket", "rest_fcgi-http.socket"
SOCKETS = [*(f"/run/rest_fcgi/{name}.sock" for name in ("pam", "run", "rest_fcgi")), "/run/systemd/private"]


def settings():
    return {
        "netapi_enable_clients": ["local", "local_async", "runner"],
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
        answer = fastcgi.talk(self.address, fastcgi.request(json.dumps([low]).encode()), 4 * TIMEOUT)
        assert answer.status == 200, (answer.status, answer.body, self.booted.run("systemctl", "status", "rest_fcgi*", check=False))
        return json.loads(answer.body)["return"][0]["ms-0"]

    def pid(self, unit):
        return int(self.booted.run("systemctl", "show", "-P", "MainPID", unit))

    def files(self):
        found = self.booted.run("find", *OWN, "-type", "f").split()
        assert {"/etc/rest_fcgi/master", "/etc/rest_fcgi/users"} <= set(found) and any(path.endswith("state.db") for path in found), found
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
    files = {"srv/modules/thief.py": THIEF.read_text(), "etc/rest_fcgi/users": f"{CRED['username']}:{digest}\n"}
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
    """Opens a conversation with the PAM helper. Yields the pid of the helper."""

    def units():
        return re.findall(r"rest_fcgi-pam@\S+", host.booted.run("systemctl", "list-units", "--plain", "rest_fcgi-pam@*"))

    wait_until(lambda: not units(), "earlier helpers have ended")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(host.booted.outside("/run/rest_fcgi/pam.sock")))
        (unit,) = wait_until(units, "the helper runs")
        yield wait_until(lambda: host.pid(unit), "the helper has a process")


def as_module(host, plan):
    return host.run("thief.attempts", **plan)


def as_command(host, plan):
    return json.loads(host.run("cmd.run", f"python3 /srv/modules/thief.py '{json.dumps(plan)}'", python_shell=True))


def is_allowed(name):
    """Returns whether an attempt may succeed. A job may read its own code and write to its own /dev/shm."""
    return name == "read /srv/modules/thief.py" or (" /dev/shm/" in name and not name.startswith("read "))


@pytest.mark.parametrize("attack", [as_module, as_command])
def test_no_job_reads_or_changes_files_sockets_and_processes_of_the_responder(host, conversation, attack):
    files = host.files()
    still = [path for path in files if "state.db" not in path and "/log/" not in path]
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


def test_every_attempt_succeeds_without_the_restrictions_of_the_units(host):
    host.booted.run("sh", "-c", "mkdir /var/lib/decoy; echo decoy > /var/lib/decoy/file")
    sleeper = int(host.booted.run("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"))
    uid = int(host.booted.run("id", "-u", "rest_fcgi"))
    plan = {"files": ["/var/lib/decoy/file"], "sockets": SOCKETS, "pids": [sleeper], "uid": uid}
    try:
        outcome = json.loads(host.booted.run("/usr/bin/python3", "/srv/modules/thief.py", json.dumps(plan)))
    finally:
        host.booted.run("systemctl", "start", "rest_fcgi.service")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        outcome.pop("core files")
    assert len(outcome) > 30 and set(outcome.values()) == {"done"}, outcome


def test_a_job_runs_without_capabilities_and_groups(host):
    uid, status = host.run("thief.whoami")
    assert uid == int(host.booted.run("id", "-u", "rest_fcgi_run"))
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(int(fields[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    groups = {int(group) for group in fields["Groups"].split()} | {int(fields["Gid"].split()[0])}
    assert int(host.booted.run("id", "-g", "rest_fcgi")) not in groups


# The script of a job prints the files and the shared memory of earlier jobs, and then creates its own.
LEAVE = """
set -e
cd; pwd
ls -A ~ /tmp /var/tmp /dev/shm | grep -c left || true
ipcs -m | grep -c 0x || true
for folder in ~ /tmp /var/tmp /dev/shm; do touch $folder/left; done
ipcmk -M 100 >/dev/null
git config --global user.name left
mkdir -m 700 ~/.ssh
ssh-keygen -q -N '' -f ~/.ssh/left
ls -A ~ ~/.ssh
"""


def test_files_and_shared_memory_of_a_job_are_gone_for_the_next_job(host):
    said = [host.run("cmd.run", LEAVE, python_shell=True) for _ in range(2)]
    assert said[0].split("\n", 3)[:3] == ["/var/lib/rest_fcgi_run", "0", "0"], said
    assert {"left", ".gitconfig", "left.pub"} <= set(said[0].split()), said
    assert said[0] == said[1]
    assert not list(host.booted.outside("/var/lib/rest_fcgi_run").glob("*"))


def test_a_job_that_fills_its_own_folders_gets_no_space_left(host):
    fill = "for folder in ~ /dev/shm; do head -c 3G /dev/zero > $folder/large || echo status $?; done"
    said = host.run("cmd.run", fill, python_shell=True)
    assert said.count("No space left on device") == said.count("status 1") == 2, said


def needs_bounds_on_memory(host):
    """Skips the test if cgroups cannot limit memory, or if cgroups of version 1 would use swap first."""
    files = ("memory/system.slice/rest_fcgi.service/memory.limit_in_bytes", "system.slice/rest_fcgi.service/memory.max")
    if not any((host.booted.outside("/sys/fs/cgroup") / file).exists() for file in files):
        pytest.skip("the cgroups of this machine have no controller memory")
    if not (host.booted.outside("/sys/fs/cgroup") / files[1]).exists() and len(pathlib.Path("/proc/swaps").read_text().splitlines()) > 1:
        pytest.skip("cgroups of version 1 with swap: what is too much is swapped first")


def test_memory_max_kills_a_greedy_job_and_no_other_process(host):
    needs_bounds_on_memory(host)
    responder = host.pid("rest_fcgi.service")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        beside = pool.submit(host.run, "cmd.run", "echo begun; sleep 3; echo whole", python_shell=True)
        greedy = host.run("cmd.run_all", "python3 -c 'x = b\"x\" * (3 << 30); print(len(x))'", python_shell=True)
        within = host.run("cmd.run_all", "python3 -c 'x = b\"x\" * (1 << 29); print(len(x))'", python_shell=True)
        assert beside.result() == "begun\nwhole"
    assert (greedy["retcode"], greedy["stdout"]) == (128 + 9, "")
    assert (within["retcode"], within["stdout"]) == (0, str(1 << 29))
    assert "signal 9" in json.dumps(host.run("thief.eats"))
    assert host.pid("rest_fcgi.service") == responder and host.run("test.ping") is True


def test_the_responder_has_no_capabilities_and_no_core_files(host):
    status = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(int(fields[name], 16) == 0 for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    limits = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/limits")
    assert re.search(r"Max core file size +0 +0 ", limits)


def is_active(host, unit):
    return host.booted.run("systemctl", "is-active", unit, check=False).strip() == "active"


@pytest.fixture
def http(host):
    """A booted host whose service and sockets are stopped. rest_cherrypy uses the port of rest_fcgi-http.socket."""
    config = host.booted.outside("/etc/rest_fcgi/master")
    changes = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}, "rest_cherrypy": {"host": "127.0.0.1", "port": 8000, "disable_ssl": True}}
    config.write_text(json.dumps(merge(settings(), changes)))
    host.booted.run("ip", "link", "set", "lo", "up")
    host.booted.run("systemctl", "stop", FASTCGI, HTTP, SERVICE)
    yield host
    host.booted.run("systemctl", "disable", FASTCGI, HTTP)
    host.booted.run("systemctl", "stop", FASTCGI, HTTP, SERVICE)
    config.write_text(json.dumps(settings()))
    host.booted.run("systemctl", "start", FASTCGI, SERVICE)


def status_over_http(host):
    return host.booted.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:8000/")


def test_the_log_names_the_setting_that_allows_a_forbidden_port(http):
    config, drop_in = map(http.booted.outside, ("/etc/rest_fcgi/master", "/run/systemd/system/rest_fcgi.service.d/port.conf"))
    config.write_text(config.read_text().replace("8000", "443"))
    drop_in.parent.mkdir()
    try:
        drop_in.write_text("[Service]\nStandardError=truncate:/tmp/said\n")
        http.booted.run("systemctl", "daemon-reload")
        http.booted.run("systemctl", "start", SERVICE, check=False)
        said = wait_until(lambda: re.search("cannot listen on.*\n", http.booted.outside("/tmp/said").read_text()), "the log names the port")[0]
    finally:
        shutil.rmtree(drop_in.parent)
        http.booted.run("systemctl", "daemon-reload")
    assert "127.0.0.1:443: Permission denied" in said and "http-port.conf" in said and HTTP in said


@pytest.mark.parametrize("first", ["over http", "by hand"])
def test_the_service_gets_the_enabled_sockets_however_it_starts(http, first):
    http.booted.run("systemctl", "enable", HTTP)
    if first == "over http":
        http.booted.run("systemctl", "start", "sockets.target")
        assert is_active(http, HTTP) and not is_active(http, FASTCGI) and not is_active(http, SERVICE)
        assert status_over_http(http) == "200"
    else:
        http.booted.run("systemctl", "start", SERVICE)
    assert http.run("test.ping") is True
    assert all(is_active(http, unit) for unit in (HTTP, FASTCGI, SERVICE))
    # systemd keeps the port open while the service is stopped. The request waits and starts the service.
    http.booted.run("systemctl", "stop", SERVICE)
    assert status_over_http(http) == "200"


def test_systemd_restarts_a_killed_responder(host):
    first = host.pid("rest_fcgi.service")
    host.booted.run("kill", "-KILL", str(first))
    assert host.run("test.ping") is True
    assert host.pid("rest_fcgi.service") not in (0, first)
