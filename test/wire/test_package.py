# SPDX-License-Identifier: MIT

import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from support import fastcgi, foreign_clients, salts
from support.booted import Booted, BootFailed
from support.daemon import BINARY, CLIENTS, ROOT, SANITIZED
from support.make import install, make
from support.pki import EC
from support.process import TIMEOUT, short_directory, wait_until

pytestmark = pytest.mark.skipif(bool(SANITIZED), reason="packages have no sanitizers")

URL = "http://127.0.0.1:8000"
LINE = "rest_fcgi: {engine: salt, netapi: [rest_cherrypy]}\n"
# All dependencies of the package are already installed, so apt needs no package lists.
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-o", "APT::Sandbox::User=root", "-o", "Dir::State::Lists=/srv"]


@pytest.fixture(scope="module")
def package():
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    with open(BINARY.parent / "deb.run", "a+") as made:  # parallel workers make the package once in a run
        fcntl.flock(made, fcntl.LOCK_EX)
        made.seek(0)
        if not run or made.read() != run:
            made.truncate(0)
            result = make("deb", "AS_BUILT=1", "SKIP_DEPS=1", f"BUILD={BINARY.parent}")
            assert result.returncode == 0, result.stdout + result.stderr
            made.write(run)
    (deb,) = (BINARY.parent / "deb").glob("rest-fcgi_*.deb")
    return deb


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_package_has_the_version_of_the_program(package):
    (release,) = re.findall(r'^VERSION_ID="?(\d+)', pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)
    version = output(BINARY, "--version").split()[1]
    assert output("dpkg-deb", "-f", package, "Version").strip() == f"{version}~deb{release}"


def test_the_package_needs_a_libfcgi_without_cve_2025_23016(package):
    needed = re.search(r"libfcgi\w+ \(>= ([^)]+)\)", output("dpkg-deb", "-f", package, "Depends"))[1]
    subprocess.run(["dpkg", "--compare-versions", needed, "ge", "2.4.2-2+deb12u1"], check=True)


def test_lintian_finds_nothing(package):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done


def test_the_package_has_the_files_of_make_install(package, directory):
    install(DESTDIR=directory / "made", PREFIX="/usr")
    subprocess.run(["dpkg-deb", "-x", package, directory / "packed"], check=True)

    def files(tree):
        found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
        return {path.replace("usr/lib/systemd", "lib/systemd").replace(".8.gz", ".8") for path in found}

    assert files(directory / "packed") - files(directory / "made") == {"usr/share/doc/rest-fcgi/changelog.gz"}
    assert files(directory / "made") <= files(directory / "packed")


def test_bash_completes_the_options(package, directory):
    subprocess.run(["dpkg-deb", "-x", package, directory], check=True)
    script = f". {directory}/usr/share/bash-completion/completions/rest_fcgi; _rest_fcgi rest_fcgi --ch rest_fcgi; echo ${{COMPREPLY[@]}}"
    assert output("bash", "-c", script).split() == ["--check-config"]


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


def exit_status(host, unit):
    return host.run("systemctl", "show", "-P", "ExecMainStatus", unit).strip()


def state(host, unit):
    return host.run("systemctl", "is-active", unit, check=False).strip()


def status_of(host, url=URL):
    return host.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url, check=False)


ASK = f"while [ ! -e /srv/done ]; do curl -sS -m 2 -o /dev/null -w '%{{http_code}}\\n' {URL} || echo failed; echo >> /srv/asked; done"


@contextlib.contextmanager
def asking(host):
    """Sends requests while the block runs. Fails at the end if a request failed or took longer than 2 seconds."""
    host.outside("/srv/done").unlink(missing_ok=True)
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


def test_init_changes_nothing_if_the_port_is_taken_or_the_start_fails_and_can_run_again(host):
    apt(host, "install", "/srv/rest-fcgi.deb")
    files = [host.outside(f"/etc/rest_fcgi/{name}") for name in ("master", "users")]
    units = ["rest_fcgi.service", "rest_fcgi.socket"]

    def is_unchanged():
        return not any(file.exists() for file in files) and [is_enabled(host, unit) or state(host, unit) == "active" for unit in units] == [False, False]

    host.run("systemd-run", "--unit=other", "python3", "-m", "http.server", "--bind", "127.0.0.1", "8000")
    wait_until(lambda: status_of(host) == "200", "the other process has the port")
    text = init(host, check=False)
    assert "port 8000" in text and "python3" in text and "other.service" in text and is_unchanged()
    host.run("systemctl", "stop", "other")

    drop_in = host.outside("/run/systemd/system/rest_fcgi.service.d/broken.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nExecStartPre=/bin/false\nRestart=no\n")
    host.run("systemctl", "daemon-reload")
    text = init(host, check=False)
    assert "ExecStartPre=/bin/false" in text and "did not start" in text and is_unchanged()
    drop_in.unlink()
    host.run("systemctl", "daemon-reload")

    for _ in range(2):
        assert URL in init(host)
        assert status_of(host) == "200" and is_enabled(host, "rest_fcgi.service")
        assert "config:   /etc/rest_fcgi/master\n" in host.run("rest_fcgi", "--check-config")
        host.run("rest_fcgi", "--undo")
        assert is_unchanged() and status_of(host).startswith("000")


def test_reload_succeeds_only_when_the_new_configuration_is_in_use(host):
    apt(host, "install", "/srv/rest-fcgi.deb")
    init(host)
    config = host.outside("/etc/rest_fcgi/master")
    good = config.read_text()
    ask = ["curl", "-sS", f"{URL}/run", "-d", "client=local", "-d", "tgt=*", "-d", "fun=test.ping", "-d", "eauth=file", "-d", "username=alice"]
    ask += ["-d", "password=correct horse"]
    named = good.replace("  embedded:\n", "  embedded:\n    minions: [{}]\n")
    for minion in ("one", "two", "three"):
        config.write_text(named.format(minion))
        host.run("systemctl", "reload", "rest_fcgi")
        assert json.loads(host.run(*ask)) == {"return": [{minion: True}]}
    say_into_a_file(host, "rest_fcgi.service")
    for wrong in ("  log_file: /var/log/nosuch/log\n", "  socket_owner: nosuch\n  listen: unix:/run/rest_fcgi/x\n", "  engine: salt\n"):
        config.write_text(good.replace("rest_fcgi:\n", "rest_fcgi:\n" + wrong).replace("  listen: fd:0", "  #", "listen" in wrong))
        assert status_after(host, "systemctl", "reload", "rest_fcgi") == "1"
        assert "the old configuration stays in use" in said(host)
        assert json.loads(host.run(*ask)) == {"return": [{"three": True}]}


def test_without_a_configuration_nothing_runs_and_the_service_says_what_to_do(host):
    apt(host, "install", "/srv/rest-fcgi.deb")
    for unit in ("rest_fcgi.service", "rest_fcgi-salt.service", "rest_fcgi.socket"):
        assert (state(host, unit), host.run("systemctl", "is-enabled", unit, check=False).strip()) == ("inactive", "disabled")
    say_into_a_file(host, "rest_fcgi.service")
    host.run("systemctl", "start", "rest_fcgi.service", check=False)
    assert (state(host, "rest_fcgi.service"), exit_status(host, "rest_fcgi.service")) == ("failed", "78")
    assert "sudo rest_fcgi --init" in said(host)


UNITS = ["rest_fcgi.socket", "rest_fcgi-run.socket", "rest_fcgi-pam.socket"]


def main_process(host, service):
    return host.run("systemctl", "show", "-P", "MainPID", f"{service}.service").strip()


def call(host, fun, *arg, client="local"):
    """Calls a function as the user of `init`. Returns what the minion returned."""
    low = {"client": client, "tgt": "*", "fun": fun, "arg": arg, "eauth": "file", "username": "alice", "password": "correct horse"}
    argv = ["curl", "-sS", "-H", "Content-Type: application/json", "-d", json.dumps([low]), f"{URL}/run"]
    (answer,) = json.loads(host.run(*argv))["return"]
    return answer.get(host.run("hostname").strip(), answer)


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
    process = main_process(host, "rest_fcgi")
    with asking(host) as some_more:
        some_more()
        apt(host, "install", "--reinstall", "/srv/rest-fcgi.deb")
        some_more()
    assert main_process(host, "rest_fcgi") not in (process, "0")
    assert host.run("sha256sum", *files) == before

    assert call(host, "cmd.run", "id -un") == "rest_fcgi_run"
    call(host, "cmd.run", "sleep 600", client="local_async")
    units = set(host.run("systemctl", "list-units", "--plain", "--no-legend", "rest_fcgi*").split()) & {*UNITS, "rest_fcgi.service"}
    assert len(units) > 2
    apt(host, "remove", "rest-fcgi")
    assert status_of(host).startswith("000") and host.run("sha256sum", *files) == before
    assert host.outside("/var/lib/rest_fcgi").exists() and not host.outside("/usr/bin/rest_fcgi").exists()
    assert host.run("systemctl", "list-units", "--plain", "--no-legend", "rest_fcgi*") == ""
    apt(host, "install", "/srv/rest-fcgi.deb")
    assert status_of(host) == "200" and {unit: state(host, unit) for unit in units} == dict.fromkeys(units, "active")
    apt(host, "purge", "rest-fcgi")
    left = host.run("find", "/etc", "/var", "/usr", "/run", "-xdev", "-iname", "*rest[_-]fcgi*", "-not", "-path", f"{ROOT}/*", "-not", "-path", "/run/systemd/*").split()
    assert [path for path in left if "/.cache/" not in path and not path.startswith("/var/lib/dpkg")] == []


@pytest.mark.parametrize("wrong", ["  nosuch_key: 1", "\ttimeout: 1"])
def test_an_upgrade_with_a_wrong_configuration_keeps_the_old_process(host, wrong):
    apt(host, "install", "/srv/rest-fcgi.deb")
    init(host)
    file = "/etc/rest_fcgi/master"
    text = host.outside(file).read_text().replace("\nrest_fcgi:\n", f"\nrest_fcgi:\n{wrong}\n")
    keeps_the_old_process(host, "rest_fcgi", file, text, file)
    assert call(host, "cmd.run", "echo still") == "still" and call(host, "test.arg", "b")["args"] == ["b"]


def keeps_the_old_process(host, service, path, wrong, fact):
    """Upgrades the package while the file has the wrong text. The old process answers, and the output has the fact and the command."""
    file = host.outside(path)
    right, process = file.read_text(), main_process(host, service)
    file.write_text(wrong)
    with asking(host) as some_more:
        some_more()
        status, text = host.status(*APT, "install", "--reinstall", "/srv/rest-fcgi.deb")
        some_more()
        assert (status, main_process(host, service)) == (0, process), text
        assert fact in text and f"systemctl restart {service}" in text
        file.write_text(right)
        host.run("systemctl", "restart", service)
        some_more()
    assert main_process(host, service) not in (process, "0")


def serves(host, server):
    """Checks that the web server starts with its configuration. Returns the status that the site answers."""
    host.run(*{"nginx": ("nginx", "-t"), "apache2": ("apache2ctl", "configtest")}[server])
    host.run("systemctl", "restart", server)
    return status_of(host, "http://127.0.0.1:8001/")


def turn_on(host, server):
    commands = {
        "nginx": "ln -s /etc/nginx/sites-available/rest_fcgi /etc/nginx/sites-enabled/",
        "apache2": "a2enmod headers proxy_fcgi proxy_http && a2ensite rest_fcgi",
    }
    host.run("sh", "-c", commands[server])


@pytest.mark.parametrize("server, without", [("nginx", "502"), ("apache2", "503")])
def test_web_servers_start_with_the_site_after_removal_and_purge(host, server, without):
    apt(host, "install", "/srv/rest-fcgi.deb")
    init(host)
    turn_on(host, server)
    assert serves(host, server) == "200"
    apt(host, "remove", "rest-fcgi")
    assert serves(host, server) == without
    apt(host, "purge", "rest-fcgi")
    assert serves(host, server).startswith("000")
    assert host.run("find", "/etc", "/var/lib/apache2", "-xdev", "-iname", "*rest[_-]fcgi*") == ""


def test_apache_serves_https_as_its_page_says(host):
    apt(host, "install", "/srv/rest-fcgi.deb")
    init(host)
    turn_on(host, "apache2")
    host.run("a2enmod", "ssl")
    host.run("openssl", "req", "-x509", *EC, "-subj", "/CN=localhost", "-keyout", "/etc/ssl/private/salt-api.key", "-out", "/etc/ssl/certs/salt-api.pem")
    site = host.outside("/etc/apache2/sites-available/rest_fcgi.conf")
    text = re.sub(r"^(Define REST_FCGI_LISTEN 127.*|Listen .*|    ServerName localhost)\n", "", site.read_text(), flags=re.MULTILINE)
    site.write_text(re.sub(r"# (Define REST_FCGI_LISTEN|ServerName|SSL)", r"\1", text))
    serves(host, "apache2")
    assert host.run("curl", "-sSk", "-o", "/dev/null", "-w", "%{http_code}", "https://127.0.0.1/") == "200"


def configuration():
    users = {"saltdev": b"x", "alice": b"correct horse"}
    return {
        "user": "salt",
        "interface": "127.0.0.1",
        "auto_accept": True,
        "worker_threads": 3,
        "external_auth": {"file": {"^filename": "/etc/salt/users", "^hashtype": "sha256", **dict.fromkeys(users, [".*", "@runner"])}},
        "netapi_enable_clients": CLIENTS,
        "rest_cherrypy": {"port": 8000, "host": "127.0.0.1", "disable_ssl": True},
    }, "".join(f"{user}:{hashlib.sha256(password).hexdigest()}\n" for user, password in users.items())


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
    folder = salts.require(salts.SERIES[0])
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

    process = main_process(host, "rest_fcgi-salt")
    with asking(host) as some_more:
        some_more()
        apt(host, "install", "--reinstall", "/srv/rest-fcgi.deb")
        some_more()
    assert main_process(host, "rest_fcgi-salt") not in (process, "0")
    assert pepper(host, *calls[0]) == before[0]
    file = "/etc/salt/master.d/rest_fcgi.conf"
    keeps_the_old_process(host, "rest_fcgi-salt", file, LINE + "nosuch: [\n", file)
    keeps_the_old_process(host, "rest_fcgi-salt", file, "rest_fcgi: {netapi: [rest_cherrypy]}\n", LINE.strip())
    assert pepper(host, *calls[0]) == before[0]
    for server in ("nginx", "apache2"):
        turn_on(host, server)
        assert serves(host, server) == "200"
        host.run("systemctl", "stop", server)

    changed = LINE + "rest_cherrypy: {port: 8001, host: 127.0.0.1, disable_ssl: true}\n"
    host.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(changed)
    host.run("systemctl", "restart", "rest_fcgi-salt")
    wait_until(lambda: status_of(host, URL.replace("8000", "8001")) == "200", "the service answers on the new port")
    assert status_of(host).startswith("000")


def low(fun, *arg, **more):
    return {"client": "local", "tgt": "ms-0", "fun": fun, "arg": list(arg), "eauth": "file", "username": "saltdev", "password": "x", **more}


def over_fastcgi(host, chunk):
    """Sends a chunk to the socket that nginx and Apache use, and returns status and body."""
    path = str(host.outside("/run/rest_fcgi/rest_fcgi.sock"))
    reply = fastcgi.talk(path, fastcgi.request(json.dumps(chunk).encode(), PATH_INFO="/run", REQUEST_URI="/run"), 4 * TIMEOUT)
    return reply.status, reply.body


@contextlib.contextmanager
def a_long_request(host, seconds):
    """A request over FastCGI runs while the block runs, and other clients ask. At the end no client has waited 2 seconds."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(over_fastcgi, host, low("test.sleep", seconds, timeout=4 * TIMEOUT))
        with asking(host) as some_more:
            some_more()
            yield running
            some_more()
        assert running.result()[0] == 200 and '"ms-0": true' in running.result()[1], running.result()


@pytest.fixture
def replaced(salt_api):
    """The host with rest_fcgi-salt in the place of salt-api."""
    salt_api.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(LINE)
    salt_api.run("systemctl", "stop", "salt-api")
    salt_api.run("systemctl", "start", "rest_fcgi-salt")
    wait_until(lambda: "200" in str(over_fastcgi(salt_api, low("test.ping"))[0]), "the minion answers", 4 * TIMEOUT)
    return salt_api


@pytest.mark.parametrize("how", ["restart", "upgrade"])
def test_a_restart_makes_no_client_wait_and_answers_a_long_request(replaced, how):
    process = main_process(replaced, "rest_fcgi-salt")
    with a_long_request(replaced, 15) as running:
        if how == "restart":
            replaced.run("systemctl", "restart", "rest_fcgi-salt")
        else:
            apt(replaced, "install", "--reinstall", "/srv/rest-fcgi.deb")
        assert not running.done() and main_process(replaced, "rest_fcgi-salt") not in (process, "0")
        assert over_fastcgi(replaced, low("test.ping"))[0] == 200


def test_the_status_says_whether_the_master_answers(replaced):
    def shown():
        return replaced.run("systemctl", "status", "rest_fcgi-salt", check=False)

    wait_until(lambda: "Status: \"ready\"" in shown(), "the status says ready")
    replaced.run("systemctl", "stop", "salt-master")
    wait_until(lambda: "not ready: master: Salt Master is not available" in shown(), "the status names the master")
    replaced.run("systemctl", "start", "salt-master")
    wait_until(lambda: "Status: \"ready\"" in shown(), "the status says ready", 4 * TIMEOUT)


def test_a_request_beyond_the_shutdown_timeout_gets_503_with_the_jid(replaced):
    replaced.outside("/etc/salt/master.d/rest_fcgi.conf").write_text(LINE.replace("{engine", "{shutdown_timeout: 5, engine"))
    replaced.run("systemctl", "restart", "rest_fcgi-salt")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        calls = [low("test.sleep", 60, timeout=4 * TIMEOUT), {**low("test.sleep", 60), "client": "runner"}]
        running = [pool.submit(over_fastcgi, replaced, call) for call in calls]
        time.sleep(3)
        begun = time.monotonic()
        replaced.run("systemctl", "stop", "rest_fcgi-salt")
        assert time.monotonic() - begun < 10
        for one in running:
            status, body = one.result()
            assert status == 503 and re.search(r"\b20\d{18}\b", body), (status, body)


def status_after(host, *argv):
    return host.run("sh", "-c", '"$@"; echo "exit status $?"', "-", *argv).rsplit(None, 1)[1]


def is_enabled(host, unit):
    return host.run("systemctl", "is-enabled", unit, check=False).strip() == "enabled"


TAB = "rest_fcgi:\n\tengine: salt\n"
MISTAKES = {
    "no line": (None, LINE.strip()),
    "a typo": (LINE.replace("_fcgi", "-fcgi"), "did you mean rest_fcgi?"),
    "a tab": (TAB, "rest_fcgi.conf:2"),
    "another engine": (LINE.replace("salt", "Salt"), '"Salt"'),
    "another user": (LINE + "user: root\n", "User=root"),
    "an unreadable file": (LINE, "master.d/rest_fcgi.conf: cannot be read"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_wrong_line_fails_the_start_names_the_reason_and_stops_nothing(salt_api, what):
    text, reason = MISTAKES[what]
    line = salt_api.outside("/etc/salt/master.d/rest_fcgi.conf")
    if text:
        line.write_text(text)
        line.chmod(0o600 if "unreadable" in what else 0o644)
    assert status_after(salt_api, "systemctl", "restart", "rest_fcgi-salt") == "1"
    assert state(salt_api, "rest_fcgi-salt") == "failed" and reason in said(salt_api)
    assert state(salt_api, "salt-api") == "active" and status_of(salt_api) == "200"


def test_init_takes_the_place_of_salt_api_and_undo_goes_back(salt_api):
    host = salt_api
    line = host.outside("/etc/salt/master.d/rest_fcgi.conf")
    host.run("systemctl", "enable", "salt-api")
    refused = host.run("rest_fcgi", "--init", check=False)
    assert "--engine salt" in refused and not line.exists()
    text = host.run("rest_fcgi", "--init", "--engine", "salt")
    assert "rest_cherrypy" in text and "--undo" in text
    assert LINE in line.read_text() and status_of(host) == "200"
    assert (state(host, "rest_fcgi-salt"), is_enabled(host, "rest_fcgi-salt")) == ("active", True)
    assert (state(host, "salt-api"), is_enabled(host, "salt-api")) == ("inactive", False)
    assert str(line).rpartition("root")[2] in host.run("rest_fcgi", "--init", "--engine", "salt", check=False)
    assert "config:   /etc/salt/master\n" in host.run("rest_fcgi", "--check-config")

    assert "salt-api" in host.run("rest_fcgi", "--undo")
    assert not line.exists()
    assert (state(host, "rest_fcgi-salt"), is_enabled(host, "rest_fcgi-salt")) == ("inactive", False)
    assert (state(host, "salt-api"), is_enabled(host, "salt-api")) == ("active", True)
    wait_until(lambda: status_of(host) == "200", "salt-api answers again")
    assert status_after(host, "rest_fcgi", "--undo") == "78"


@pytest.mark.parametrize("broken", ["the check", "the start", "the user"])
def test_an_init_that_fails_leaves_salt_api_as_it_was_and_can_run_again(salt_api, broken):
    host = salt_api
    line, other, drop_in = map(
        host.outside, ("/etc/salt/master.d/rest_fcgi.conf", "/etc/salt/master.d/other.conf", "/run/systemd/system/rest_fcgi-salt.service.d/broken.conf")
    )
    if broken == "the check":
        other.write_text("rest_cherrypy: {port: 8000, disable_ssl: true, log_access_file: /nosuch/log}\n")
    if broken == "the start":
        drop_in.write_text("[Service]\nExecStartPre=/bin/sh -c 'echo broken here >&2; exit 1'\nRestart=no\n")
    if broken == "the user":
        drop_in.write_text("[Service]\nUser=nobody\n")
    host.run("systemctl", "daemon-reload")
    process = host.run("systemctl", "show", "-P", "MainPID", "salt-api")
    try:
        text = host.run("sh", "-c", "rest_fcgi --init --engine salt; echo exit status $?", check=False)
        assert "exit status 0" not in text
        assert {"the check": "/nosuch/log", "the start": "rest_fcgi-salt.service", "the user": "User=salt"}[broken] in text
        assert not line.exists()
        assert state(host, "salt-api") == "active" and state(host, "rest_fcgi-salt") != "active"
        if broken != "the start":
            assert host.run("systemctl", "show", "-P", "MainPID", "salt-api") == process
        wait_until(lambda: status_of(host) == "200", "salt-api answers")
    finally:
        other.unlink(missing_ok=True)
        drop_in.unlink(missing_ok=True)
        host.run("systemctl", "daemon-reload")
    host.run("rest_fcgi", "--init", "--engine", "salt")
    assert state(host, "rest_fcgi-salt") == "active"
    host.run("rest_fcgi", "--undo")


def test_init_and_the_start_name_another_process_on_the_port(salt_api):
    host = salt_api
    host.run("systemctl", "stop", "salt-api")
    host.run("systemd-run", "--unit=other", "python3", "-m", "http.server", "--bind", "127.0.0.1", "8000")
    try:
        wait_until(lambda: status_of(host) == "200", "the other process has the port")
        text = host.run("rest_fcgi", "--init", "--engine", "salt", check=False)
        assert "other.service" in text and "systemctl disable --now other" in text
        assert not host.outside("/etc/salt/master.d/rest_fcgi.conf").exists()
    finally:
        host.run("systemctl", "stop", "other")


def test_with_a_master_of_another_user_the_service_names_the_drop_in(salt_api):
    line, drop_in = map(salt_api.outside, ("/etc/salt/master.d/rest_fcgi.conf", "/run/systemd/system/rest_fcgi-salt.service.d/user.conf"))
    line.write_text(LINE + "user: root\n")
    salt_api.run("systemctl", "stop", "salt-api")
    salt_api.run("systemctl", "start", "rest_fcgi-salt", check=False)
    assert state(salt_api, "rest_fcgi-salt") == "failed"
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
    log = salt_api.outside("/srv/said")
    wait_until(lambda: "systemctl start salt-master" in log.read_text(), "the log says what to do")
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
