# SPDX-License-Identifier: MIT

import concurrent.futures
import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import time

import pytest

from support import foreign_clients, salts
from support.booted import Booted, BootFailed
from support.daemon import BINARY, CLIENTS, ROOT, SANITIZED
from support.make import install, make
from support.process import TIMEOUT, short_directory, wait_until

pytestmark = pytest.mark.skipif(bool(SANITIZED), reason="packages have no sanitizers")

URL = "http://127.0.0.1:8000"
LINE = "rest_fcgi: {engine: salt, netapi: [rest_cherrypy]}\n"
# All dependencies of the package are already installed, so apt needs no package lists.
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-o", "APT::Sandbox::User=root", "-o", "Dir::State::Lists=/srv"]


@pytest.fixture(scope="module")
def package():
    result = make("deb", "AS_BUILT=1", "SKIP_DEPS=1", f"BUILD={BINARY.parent}")
    assert result.returncode == 0, result.stdout + result.stderr
    (deb,) = (BINARY.parent / "deb").glob("rest-fcgi_*.deb")
    return deb


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_package_has_the_version_of_the_program(package):
    assert output(BINARY, "--version").split() == ["rest_fcgi", output("dpkg-deb", "-f", package, "Version").strip()]


def test_lintian_finds_nothing(package):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done


def test_the_package_has_the_files_of_make_install(package, directory):
    install(DESTDIR=directory / "made", PREFIX="/usr")
    subprocess.run(["dpkg-deb", "-x", package, directory / "packed"], check=True)

    def files(tree):
        found = {str(path.relative_to(tree)).removesuffix(".gz") for path in tree.rglob("*") if path.is_file()}
        return {path.replace("usr/lib/systemd", "lib/systemd") for path in found}

    assert files(directory / "packed") - files(directory / "made") == {"usr/share/doc/rest-fcgi/changelog"}
    assert files(directory / "made") <= files(directory / "packed")


def test_bash_completes_the_options(package, directory):
    subprocess.run(["dpkg-deb", "-x", package, directory], check=True)
    script = f". {directory}/usr/share/bash-completion/completions/rest_fcgi; _rest_fcgi rest_fcgi --ch rest_fcgi; echo ${{COMPREPLY[@]}}"
    assert output("bash", "-c", script).split() == ["--check-config", "--check-salt"]


@contextlib.contextmanager
def booted(package, files=None):
    directory = short_directory()
    try:
        host = Booted(directory, None, {**(files or {}), "package": ""})
    except BootFailed as error:
        shutil.rmtree(directory)
        pytest.skip(f"no host can be booted here: {error}")
    try:
        shutil.copy(package, host.outside("/srv/rest-fcgi.deb"))  # systemd empties /tmp at boot
        host.run("rm", "-f", "/usr/sbin/policy-rc.d")  # this file of container images forbids every restart
        host.run("rm", "-f", "/var/lib/man-db/auto-update")  # the index of manual pages takes long to build
        host.run("rm", "-rf", "/var/cache/salt", "/var/log/salt")  # another master may have left these files
        host.run("ip", "link", "set", "lo", "up")
        yield host
    finally:
        host.stop()
        shutil.rmtree(directory)


def apt(host, *words):
    return host.run(*APT, *words)


def say_into_a_file(host, unit):
    """Sends the output of the unit to a file, because the booted host has no journal."""
    drop_in = host.outside(f"/run/systemd/system/{unit}.d/said.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nStandardOutput=append:/srv/said\nStandardError=append:/srv/said\n")
    host.run("systemctl", "daemon-reload")


def said(host):
    path = host.outside("/srv/said")
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return text


def state(host, unit):
    return host.run("systemctl", "is-active", unit, check=False).strip()


def status_of(host, url=URL):
    return host.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url, check=False)


ASK = f"while [ ! -e /srv/done ]; do curl -sS -o /dev/null -w '%{{http_code}}\\n' {URL} || echo failed; echo >> /srv/asked; done"


@contextlib.contextmanager
def asking(host):
    """Sends requests while the block runs. Fails at the end if a request failed."""
    path = host.outside("/srv/asked")
    path.write_text("")

    def some_more():
        before = path.stat().st_size
        wait_until(lambda: path.stat().st_size > before + 2, "clients sent more requests")

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(host.run, "sh", "-c", ASK) for _ in range(3)]
        try:
            yield some_more
        finally:
            host.run("touch", "/srv/done")
    statuses = "".join(one.result() for one in asked).split()
    assert len(statuses) > 10 and set(statuses) == {"200"}, statuses


@pytest.fixture
def host(package):
    with booted(package) as host:
        yield host


def test_without_a_configuration_nothing_runs_and_the_service_says_what_to_do(host):
    apt(host, "install", "/srv/rest-fcgi.deb")
    for unit in ("rest_fcgi.service", "rest_fcgi-salt.service", "rest_fcgi.socket"):
        assert (state(host, unit), host.run("systemctl", "is-enabled", unit, check=False).strip()) == ("inactive", "disabled")
    say_into_a_file(host, "rest_fcgi.service")
    host.run("systemctl", "start", "rest_fcgi.service")
    assert state(host, "rest_fcgi.service") == "inactive"
    assert "sudo rest_fcgi --init" in said(host)


def init(host, check=True):
    return host.run("rest_fcgi", "--init", "--user", "alice", "--password-stdin", stdin="correct horse\n", check=check)


def test_the_first_answer_comes_within_a_minute_and_upgrade_removal_and_purge_keep_what_they_should(host):
    begun = time.monotonic()
    apt(host, "install", "/srv/rest-fcgi.deb")
    text = init(host)
    assert URL in text
    (command,) = re.findall(r"read .*?password@-", text, re.DOTALL)
    assert json.loads(host.run("bash", "-c", command, stdin="correct horse\n")) == {"return": [{host.run("hostname").strip(): True}]}
    assert time.monotonic() - begun < 60
    files = ["/etc/rest_fcgi/master", "/etc/rest_fcgi/users"]
    assert host.run("stat", "-c", "%a %U %G", *files).split("\n")[:2] == ["640 root rest_fcgi"] * 2
    assert "correct" not in "".join(host.run("cat", file) for file in files)
    assert "found the file /etc/rest_fcgi/master, " in init(host, check=False)

    before = host.run("sha256sum", *files)
    process = host.run("systemctl", "show", "-P", "MainPID", "rest_fcgi.service")
    with asking(host) as some_more:
        some_more()
        apt(host, "install", "--reinstall", "/srv/rest-fcgi.deb")
        some_more()
    assert host.run("systemctl", "show", "-P", "MainPID", "rest_fcgi.service") not in (process, "0")
    assert host.run("sha256sum", *files) == before

    apt(host, "remove", "rest-fcgi")
    assert status_of(host).startswith("000") and host.run("sha256sum", *files) == before
    assert host.outside("/var/lib/rest_fcgi").exists() and not host.outside("/usr/bin/rest_fcgi").exists()
    apt(host, "purge", "rest-fcgi")
    left = host.run("find", "/etc", "/var", "/usr", "/run", "-xdev", "-iname", "*rest[_-]fcgi*", "-not", "-path", f"{ROOT}/*", "-not", "-path", "/run/systemd/*").split()
    assert [path for path in left if "/.cache/" not in path and not path.startswith("/var/lib/dpkg")] == []


def configuration():
    digest = hashlib.sha256(b"x").hexdigest()
    return {
        "user": "salt",
        "interface": "127.0.0.1",
        "auto_accept": True,
        "worker_threads": 3,
        "external_auth": {"file": {"^filename": "/etc/salt/users", "^hashtype": "sha256", "saltdev": [".*", "@runner"]}},
        "netapi_enable_clients": CLIENTS,
        "rest_cherrypy": {"port": 8000, "host": "127.0.0.1", "disable_ssl": True},
    }, f"saltdev:{digest}\n"


SALT_UNIT = """[Service]
User={user}
ExecStart={folder}/bin/python -W ignore {folder}/bin/salt-{name} -c /etc/salt
LimitNOFILE=20000
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture(scope="module")
def salt(package):
    """A host with the package, and a running master, minion and salt-api."""
    folder = salts.require("3006")
    foreign_clients.require()
    master, users = configuration()
    minion = {"id": "ms-0", "master": "127.0.0.1", "enable_fqdns_grains": False, "enable_gpu_grains": False, "acceptance_wait_time": 1}
    files = {"etc/salt/master": json.dumps(master), "etc/salt/minion": json.dumps(minion), "etc/salt/users": users, "etc/salt/master.d/.keep": ""}
    for name, user in {"master": "salt", "minion": "root", "api": "salt"}.items():
        files[f"etc/systemd/system/salt-{name}.service"] = SALT_UNIT.format(folder=folder, name=name, user=user)
    with booted(package, files) as host:
        host.run("useradd", "--system", "salt")
        host.run("sh", "-c", f"p={folder}; while [ $p != / ]; do chmod o+x $p; p=$(dirname $p); done")
        host.run("install", "-d", "-o", "salt", "-g", "salt", "/var/cache/salt", "/var/log/salt", "/run/salt", "/etc/salt/pki")
        host.run("chown", "-R", "salt:salt", "/etc/salt")
        apt(host, "install", "/srv/rest-fcgi.deb")
        host.run("systemctl", "enable", "--now", "salt-master", "salt-minion", "salt-api")
        say_into_a_file(host, "rest_fcgi-salt.service")
        yield host


@pytest.fixture
def salt_api(salt):
    """The host with a running salt-api, and without the configuration `LINE` of rest_fcgi."""
    salt.run("systemctl", "disable", "--now", "rest_fcgi-salt")
    salt.outside("/etc/salt/master.d/rest_fcgi.conf").unlink(missing_ok=True)
    salt.run("systemctl", "start", "salt-master", "salt-api")
    wait_until(lambda: status_of(salt) == "200", "salt-api answers", 4 * TIMEOUT)
    said(salt)
    return salt


def pepper(host, *words):
    folder = foreign_clients.environment()
    text = host.run(folder / "bin/python", folder / "bin/pepper", "-u", URL, *foreign_clients.Pepper.LOGIN, *words, check=False)
    return re.sub(r"\b20\d{18}\b|\d{4}-\d\d-\d\dT[\d:.]+", "JID or time", text)


def test_it_replaces_a_running_salt_api_and_an_upgrade_fails_no_request(salt_api):
    host = salt_api
    calls = [["*", "test.ping"], ["*", "test.arg", "a", "b=c"], ["--client=runner", "manage.up"]]
    wait_until(lambda: '"ret": true' in pepper(host, *calls[0]), f"the minion answers: {pepper(host, *calls[0])}", 4 * TIMEOUT)
    before = [pepper(host, *call) for call in calls]
    host.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(LINE)
    host.run("sh", "-c", "systemctl disable --now salt-api && systemctl enable --now rest_fcgi-salt")
    wait_until(lambda: status_of(host) == "200", "rest_fcgi answers")
    assert [pepper(host, *call) for call in calls] == before, said(host)
    assert (state(host, "salt-api"), state(host, "rest_fcgi-salt")) == ("inactive", "active")

    process = host.run("systemctl", "show", "-P", "MainPID", "rest_fcgi-salt")
    with asking(host) as some_more:
        some_more()
        apt(host, "install", "--reinstall", "/srv/rest-fcgi.deb")
        some_more()
    assert host.run("systemctl", "show", "-P", "MainPID", "rest_fcgi-salt") not in (process, "0")
    assert pepper(host, *calls[0]) == before[0]

    changed = LINE + "rest_cherrypy: {port: 8001, host: 127.0.0.1, disable_ssl: true}\n"
    host.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(changed)
    host.run("systemctl", "restart", "rest_fcgi-salt")
    wait_until(lambda: status_of(host, URL.replace("8000", "8001")) == "200", "the service answers on the new port")
    assert status_of(host).startswith("000")


def test_without_the_line_the_service_names_it(salt_api):
    salt_api.run("systemctl", "start", "rest_fcgi-salt")
    assert state(salt_api, "rest_fcgi-salt") == "inactive"
    assert LINE.strip() in said(salt_api)


def test_with_a_master_of_another_user_the_service_names_the_drop_in(salt_api):
    line, drop_in = map(salt_api.outside, ("/etc/salt/master.d/rest_fcgi.conf", "/run/systemd/system/rest_fcgi-salt.service.d/user.conf"))
    line.write_text(LINE + "user: root\n")
    salt_api.run("systemctl", "start", "rest_fcgi-salt")
    assert state(salt_api, "rest_fcgi-salt") == "inactive"
    lines = said(salt_api).strip().splitlines()[-2:]
    assert lines == ["[Service]", "User=root"]
    drop_in.write_text("\n".join(lines))
    try:
        salt_api.run("systemctl", "daemon-reload")
        salt_api.run("systemctl", "start", "rest_fcgi-salt")
        wait_until(lambda: status_of(salt_api) == "200", "the service answers as root")
        salt_api.run("systemctl", "stop", "rest_fcgi-salt")
    finally:
        drop_in.unlink()
        salt_api.run("systemctl", "daemon-reload")


def test_while_the_master_does_not_run_requests_get_503_and_the_log_says_what_to_do(salt_api):
    salt_api.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(LINE)
    salt_api.run("systemctl", "stop", "salt-master", "salt-api")
    salt_api.run("systemctl", "start", "rest_fcgi-salt")
    assert "systemctl start salt-master" in said(salt_api)
    wait_until(lambda: status_of(salt_api) == "200", "the service answers")
    assert "503" in pepper(salt_api, "*", "test.ping")


def test_with_another_process_on_the_port_the_log_names_salt_api(salt_api):
    salt_api.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(LINE)
    salt_api.run("systemctl", "stop", "salt-api")
    salt_api.run("systemd-run", "--unit=other", "python3", "-m", "http.server", "--bind", "127.0.0.1", "8000")
    try:
        wait_until(lambda: status_of(salt_api) == "200", "the other process has the port")
        salt_api.run("systemctl", "start", "rest_fcgi-salt", check=False)
        wait_until(lambda: state(salt_api, "rest_fcgi-salt") == "failed", "the service has failed")
        assert "systemctl disable --now salt-api" in said(salt_api)
    finally:
        salt_api.run("systemctl", "stop", "other")
