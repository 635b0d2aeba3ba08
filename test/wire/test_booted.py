# SPDX-License-Identifier: MIT
"""The installed service on a booted host. Jobs and modules do not reach files or processes of rest_fcgi."""

import concurrent.futures
import contextlib
import hashlib
import json
import pathlib
import re
import resource
import shutil
import socket
import time

import pytest

from support import fastcgi
from support.api import CRED
from support.booted import Booted, BootFailed
from support.daemon import BINARY, ROOT, merge
from support.process import TIMEOUT, short_directory, wait_until

THIEF = pathlib.Path(__file__).with_name("support") / "thief.py"
SECRET = "s3cret-of-the-responder"
OWN = ["/etc/rest_fcgi", "/var/lib/rest_fcgi", "/var/log/rest_fcgi", "/srv/modules", "/dev/shm"]
SERVICE, FASTCGI = "rest_fcgi.service", "rest_fcgi.socket"
SOCKETS = [*(f"/run/rest_fcgi/{name}.sock" for name in ("pam", "run", "rest_fcgi")), "/run/systemd/private"]


def settings():
    return {
        "netapi_enable_clients": ["local", "local_async", "runner"],
        "sharedsecret": SECRET,
        "external_auth": {"file": {"^filename": "/etc/rest_fcgi/users", "^hashtype": "sha256", "saltdev": [".*", "@runner"]}},
        "cachedir": "/var/lib/rest_fcgi",
        "rest_fcgi": {
            "listen": "fd:0",
            "log_file": "/var/log/rest_fcgi/log",
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
        booted.run(*argv, stdin=CRED["password"] + "\n")

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


def test_commands_of_root_work_as_the_user_of_the_service(host):
    program = ["rest_fcgi", "-c", "/etc/rest_fcgi"]
    host.booted.run(*program, "--check-config")
    host.booted.run(*program, "--mk-token", "file:saltdev", stdin=CRED["password"] + "\n")
    host.booted.run(*program, "--revoke", "file:somebody")
    host.booted.run(*program, "--explain", "saltdev", "test.ping", "*")
    host.booted.run(*program, "--backup", "/root/state.db")
    host.booted.run("systemctl", "stop", FASTCGI, SERVICE)
    host.booted.run(*program, "--restore", "/root/state.db")
    assert host.booted.run("find", "/var/lib/rest_fcgi", "/var/log/rest_fcgi", "!", "-user", "rest_fcgi") == ""
    host.booted.run("systemctl", "start", FASTCGI, SERVICE)
    assert host.run("test.ping") is True


def test_a_flood_of_refused_requests_hides_no_audit_line(host):
    def log():
        return host.booted.run("cat", "/var/log/rest_fcgi/log")

    before = len(log())
    stranger = fastcgi.request(json.dumps([{"token": "0" * 64, "client": "local", "tgt": "*", "fun": "test.ping"}]).encode())
    begun = time.monotonic()
    for number in range(3000):
        assert fastcgi.talk(host.address, stranger).status == 401
        if number == 1500:
            host.run("cmd.run", "true")
    seconds = time.monotonic() - begun + 2
    said = wait_until(lambda: "outcome=refused" in log()[before:] and log()[before:], "refusals are summed up")
    assert "fun=cmd.run" in said and said.count("\n") < 15 * seconds + 5, said[:3000]
    for unit in ("rest_fcgi.service", "rest_fcgi-salt.service"):
        assert "LogRateLimitIntervalSec=0" in (ROOT / "deploy/systemd" / unit).read_text()


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


def test_the_responder_can_only_open_ports_and_has_no_core_files(host):
    status = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    cap_net_bind_service = 1 << 10
    assert {int(fields[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {cap_net_bind_service}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    limits = host.booted.run("cat", f"/proc/{host.pid('rest_fcgi.service')}/limits")
    assert re.search(r"Max core file size +0 +0 ", limits)


def is_active(host, unit):
    return host.booted.run("systemctl", "is-active", unit, check=False).strip() == "active"


@pytest.fixture
def http(host):
    """A booted host whose service and socket are stopped. rest_cherrypy has a port."""
    config = host.booted.outside("/etc/rest_fcgi/master")
    changes = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}, "rest_cherrypy": {"host": "127.0.0.1", "port": 8000, "disable_ssl": True}}
    config.write_text(json.dumps(merge(settings(), changes)))
    host.booted.run("ip", "link", "set", "lo", "up")
    host.booted.run("systemctl", "stop", FASTCGI, SERVICE)
    yield host
    host.booted.run("systemctl", "stop", FASTCGI, SERVICE)
    config.write_text(json.dumps(settings()))
    host.booted.run("systemctl", "start", FASTCGI, SERVICE)


def status_over_http(host):
    return host.booted.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:8000/", check=False)[:3]


@contextlib.contextmanager
def drop_in(host, text):
    """Changes the service for the block."""
    path = host.booted.outside(f"/run/systemd/system/{SERVICE}.d/test.conf")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    host.booted.run("systemctl", "daemon-reload")
    try:
        yield
    finally:
        shutil.rmtree(path.parent)
        host.booted.run("systemctl", "daemon-reload")


def test_the_log_names_the_settings_that_forbid_a_port(http):
    config = http.booted.outside("/etc/rest_fcgi/master")
    config.write_text(config.read_text().replace("8000", "443"))
    with drop_in(http, "[Service]\nStandardError=truncate:/tmp/said\nCapabilityBoundingSet=\nAmbientCapabilities=\n"):
        http.booted.run("systemctl", "start", SERVICE, check=False)
        said = wait_until(lambda: re.search("cannot listen on.*\n", http.booted.outside("/tmp/said").read_text()), "the log names the port")[0]
    assert "127.0.0.1:443: Permission denied" in said and "SocketBindAllow=" in said and "CAP_NET_BIND_SERVICE" in said


def test_the_service_opens_the_port_of_its_file(http):
    config = http.booted.outside("/etc/rest_fcgi/master")
    config.write_text(config.read_text().replace("8000", "443"))
    http.booted.run("systemctl", "start", SERVICE)
    assert http.booted.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:443/") == "200"
    assert http.run("test.ping") is True and is_active(http, FASTCGI)
    config.write_text(config.read_text().replace("443", "8000"))
    http.booted.run("systemctl", "restart", SERVICE)
    assert status_over_http(http) == "200"
    http.booted.run("systemctl", "stop", SERVICE)
    assert status_over_http(http) == "000"


ASK = "while [ ! -e /tmp/done ]; do curl -sS -o /dev/null -w '%{http_code} %{time_total}\\n' http://127.0.0.1:8000/ || echo 0 0; done"


@contextlib.contextmanager
def a_long_request(host, seconds):
    """A request over FastCGI runs while the block runs, and other clients ask over HTTP and FastCGI. Yields the
    future of the long request. At the end no client has waited more than 2 seconds, and every client was answered."""
    host.booted.run("rm", "-f", "/tmp/done")
    times = []

    def ask_over_fastcgi():
        while not host.booted.outside("/tmp/done").exists():
            begun = time.monotonic()
            assert host.run("test.ping") is True
            times.append(time.monotonic() - begun)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        running = pool.submit(host.run, "test.sleep", seconds)
        wait_until(lambda: "test.sleep" in json.dumps(host.run("saltutil.running")), "the long request runs")
        asked = [pool.submit(host.booted.run, "sh", "-c", ASK), pool.submit(ask_over_fastcgi)]
        try:
            yield running
            time.sleep(1)
        finally:
            host.booted.run("touch", "/tmp/done")
        asked[1].result()
        replies = [line.split() for line in asked[0].result().splitlines()]
    assert {status for status, _ in replies} == {"200"} and len(replies) > 10, replies
    assert max(times + [float(seconds) for _, seconds in replies]) < 2


def test_a_restart_makes_no_client_wait_and_answers_a_long_request(http):
    http.booted.run("systemctl", "start", FASTCGI, SERVICE)
    first = http.pid(SERVICE)
    with a_long_request(http, 15) as running:
        for _ in range(2):
            http.booted.run("systemctl", "restart", SERVICE)
            jobs = json.dumps(http.run("saltutil.running"))
            assert "test.sleep" in jobs, jobs
        assert http.pid(SERVICE) not in (0, first) and not running.done()
        assert running.result() is True


def test_a_stop_waits_for_a_long_request_and_ends_the_service(http):
    http.booted.run("systemctl", "start", FASTCGI, SERVICE)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(http.run, "test.sleep", 4)
        wait_until(lambda: "test.sleep" in json.dumps(http.run("saltutil.running")), "the long request runs")
        http.booted.run("systemctl", "stop", FASTCGI, SERVICE)
        assert running.result(1) is True
    assert not is_active(http, SERVICE) and not processes(http)
    assert not http.booted.outside("/run/rest_fcgi/rest_fcgi.sock").exists()


def test_a_stop_also_waits_for_a_request_of_the_process_before_a_restart(http):
    http.booted.run("systemctl", "start", FASTCGI, SERVICE)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(http.run, "cmd.run", "sleep 12; echo whole", python_shell=True)
        wait_until(lambda: "cmd.run" in json.dumps(http.run("saltutil.running")), "the long request runs")
        http.booted.run("systemctl", "restart", SERVICE)
        http.booted.run("systemctl", "restart", SERVICE)
        assert len(processes(http)) == 3 and not running.done()
        http.booted.run("systemctl", "stop", FASTCGI, SERVICE)
        assert not processes(http) and running.result() == "whole"


def test_ready_says_stopping_during_a_stop(http):
    config = http.booted.outside("/etc/rest_fcgi/master")
    config.write_text(json.dumps(merge(json.loads(config.read_text()), {"rest_fcgi": {"health": True}})))
    http.booted.run("systemctl", "start", FASTCGI, SERVICE)
    http.booted.run("systemctl", "restart", SERVICE)  # systemd now passes the ports
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(http.run, "test.sleep", 5)
        wait_until(lambda: "test.sleep" in json.dumps(http.run("saltutil.running")), "the long request runs")
        http.booted.run("systemctl", "stop", "--no-block", FASTCGI, SERVICE)
        ask = ["curl", "-sS", "http://127.0.0.1:8000/ready"]
        wait_until(lambda: "stopping" in http.booted.run(*ask), "ready says stopping", 3)
        assert "stopping" in http.booted.run("systemctl", "status", SERVICE, check=False)
        assert running.result() is True


def test_a_worker_that_hangs_is_replaced(http):
    with drop_in(http, "[Service]\nWatchdogSec=3\n"):
        http.booted.run("systemctl", "start", FASTCGI, SERVICE)
        time.sleep(5)
        main = http.pid(SERVICE)
        worker = http.booted.run("pgrep", "-P", str(main)).strip()
        http.booted.run("kill", "-STOP", worker)
        wait_until(lambda: http.pid(SERVICE) not in (0, main), "systemd starts the service again")
        assert http.run("test.ping") is True and worker not in processes(http)


def test_a_unix_socket_for_the_metrics_works_in_the_unit(http):
    config = http.booted.outside("/etc/rest_fcgi/master")
    path = "/run/rest_fcgi-metrics/socket"
    config.write_text(json.dumps(merge(json.loads(config.read_text()), {"rest_fcgi": {"metrics": {"listen": f"unix:{path}"}}})))
    with drop_in(http, "[Service]\nRuntimeDirectory=rest_fcgi-metrics\n"):
        for verb in ("start", "restart"):
            http.booted.run("systemctl", verb, SERVICE)
            assert "rest_fcgi_build_info" in http.booted.run("curl", "-sS", "--unix-socket", path, "http://localhost/metrics")


def processes(host):
    return host.booted.run("pgrep", "-x", "rest_fcgi", check=False).split()


@pytest.mark.parametrize("number", ["TERM", "KILL", "ABRT"])
@pytest.mark.parametrize("which", ["main process", "worker"])
def test_systemd_starts_the_service_again_after_any_end(host, which, number):
    main = host.pid(SERVICE)
    worker = host.booted.run("pgrep", "-P", str(main)).strip()
    host.booted.run("kill", f"-{number}", str(main) if which == "main process" else worker)
    wait_until(lambda: host.pid(SERVICE) not in (0, main), "the service runs again")
    assert host.run("test.ping") is True
    assert len(processes(host)) == 2 and worker not in processes(host)


def test_a_second_fastcgi_socket_fails_and_leaves_the_first(host):
    host.booted.run("systemctl", "start", "rest_fcgi-salt.socket", check=False)
    assert host.booted.run("systemctl", "is-failed", "rest_fcgi-salt.socket").strip() == "failed"
    host.booted.run("systemctl", "reset-failed", "rest_fcgi-salt.socket")
    assert is_active(host, FASTCGI) and host.run("test.ping") is True


def test_make_uninstall_stops_and_disables_the_units(host):
    """This is the last test, because it removes the program."""
    units = ["systemctl", "list-units", "--plain", "--no-legend", "rest_fcgi*"]
    host.booted.run("systemctl", "enable", SERVICE)
    host.run("cmd.run", "true")
    assert len(host.booted.run(*units).splitlines()) > 3
    host.booted.run("make", "-C", str(ROOT), "-s", "uninstall", "PREFIX=/usr", f"BUILD={BINARY.parent}")
    assert host.booted.run(*units) == ""
    assert host.booted.run("find", "/etc/systemd", "/usr/lib/systemd", "-name", "rest_fcgi*.s*") == ""
