# SPDX-License-Identifier: MIT
"""The files of `make install`, such as units, users and the manual page."""

import grp
import json
import os
import pwd
import re
import shutil
import stat
import subprocess

import pytest

from support import daemon as daemons
from support import fastcgi
from support.api import local
from support.make import install
from support.process import short_directory

UNITS = ["rest_fcgi.service", "rest_fcgi.socket", "rest_fcgi-pam.socket", "rest_fcgi-pam@.service"]
UNITS += ["rest_fcgi-run.socket", "rest_fcgi-run@.service", "rest_fcgi-salt.socket", "rest_fcgi-salt.service"]
TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to give files away")


def run(*argv, **options):
    env = {"PATH": TOOLS, "LC_ALL": "C.UTF-8", **options.pop("env", {})}
    result = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=env, **options)
    return result.returncode, result.stdout + result.stderr


def content(tree):
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def installed():
    """Installs the program like a package. Returns the root folder, which the tests do not change."""
    home = short_directory()
    install(DESTDIR=home / "root", PREFIX="/usr")
    yield home / "root"
    shutil.rmtree(home)


@pytest.fixture
def root(installed, directory):
    """A copy of the installed tree, which the test may change."""
    return shutil.copytree(installed, directory / "root", symlinks=True)


@pytest.fixture(scope="module")
def prefix():
    home = short_directory()
    install(PREFIX=home / "usr")
    yield home / "usr"
    shutil.rmtree(home)


def test_install_uses_the_paths_of_debian(installed):
    doc = "usr/share/doc/rest-fcgi/"
    expected = {"usr/bin/rest_fcgi", "usr/lib/rest_fcgi/rest_fcgi_pam", "usr/lib/rest_fcgi/rest_fcgi_run"}
    expected |= {f"usr/lib/rest_fcgi/{name}.py" for name in ("module_loader", "salt_exceptions", "salt_functions", "salt_ssh_client")}
    expected |= {"usr/lib/rest_fcgi/minion_options.json"}
    expected |= {"usr/share/man/man8/rest_fcgi.8"}
    expected |= {f"usr/lib/systemd/system/{unit}" for unit in UNITS}
    expected |= {"usr/lib/sysusers.d/rest_fcgi.conf", "usr/lib/tmpfiles.d/rest_fcgi.conf"}
    expected |= {"etc/logrotate.d/rest_fcgi", "usr/share/bash-completion/completions/rest_fcgi"}
    expected |= {doc + "README.md", doc + "configuration.md", doc + "salt.md", doc + "SECURITY.md", doc + "master.example", doc + "copyright"}
    expected |= {doc + "salt-master.conf", doc + "manage-host.conf"}
    expected |= {doc + "nginx/README.md", "etc/nginx/sites-available/rest_fcgi", "etc/apache2/sites-available/rest_fcgi.conf"}
    files = content(installed)
    assert expected <= set(files)
    assert not [name for name, text in files.items() if re.search(rb"@(prefix|sysconfdir)@", text)]
    start = b"ExecStart=/usr/bin/rest_fcgi --config /etc/rest_fcgi/master\n"
    assert start in files[f"usr/lib/systemd/system/{UNITS[0]}"]
    assert run(installed / "usr/bin/rest_fcgi", "--version")[0] == 0


def dead_links(pages):
    dead = []
    for page in pages:
        paths = re.findall(r'\]\((?!https?:)([^)#\s"]+)', page.read_text())
        dead += [(page.name, path) for path in paths if not (page.parent / path).exists()]
    return dead


def test_links_of_installed_pages_lead_somewhere(installed):
    pages = list((installed / "usr/share").rglob("*.md"))
    deployed = [page for folder in ("deploy", "nginx", "apache") for page in (daemons.ROOT / folder).rglob("*.md")]
    assert len(pages) == len(deployed) + 1
    assert dead_links(pages) == []


def test_installed_paths_follow_the_prefix(prefix):
    files = content(prefix)
    for name in UNITS[0], UNITS[3], UNITS[5]:
        (start,) = re.findall(rb"^ExecStart=(\S+)", files[f"lib/systemd/system/{name}"], re.MULTILINE)
        assert start.startswith(bytes(prefix))
    assert {"etc/nginx/sites-available/rest_fcgi", "etc/logrotate.d/rest_fcgi"} <= set(files)
    assert bytes(prefix / "bin/rest_fcgi") in files["etc/apache2/sites-available/rest_fcgi-fcgid.conf"]
    assert bytes(prefix / "etc/rest_fcgi") in files["lib/tmpfiles.d/rest_fcgi.conf"]


def test_install_and_uninstall_keep_the_configuration(root):
    site = root / "etc/nginx/sites-available/rest_fcgi"
    site.write_text("listen 127.0.0.1:7;\n")
    install(DESTDIR=root, PREFIX="/usr")
    assert site.read_text() == "listen 127.0.0.1:7;\n"
    install("uninstall", DESTDIR=root, PREFIX="/usr")
    assert {path.rpartition("/")[0] for path in content(root)} == {"etc/nginx/sites-available", "etc/apache2/sites-available"}
    assert not (root / "usr/share/doc/rest-fcgi").exists()


def verify(prefix, *units):
    env = {"SYSTEMD_UNIT_PATH": f"{prefix}/lib/systemd/system:", "MANPATH": f"{prefix}/share/man"}
    return run("systemd-analyze", "verify", "--recursive-errors=no", *units, env=env)


def test_systemd_accepts_the_units(prefix):
    assert verify(prefix, *UNITS) == (0, "")


@pytest.mark.parametrize("unit, name", [(UNITS[0], "salt-master"), (UNITS[5], "manage-host")])
def test_systemd_accepts_the_drop_ins(prefix, unit, name):
    folder = prefix / "lib/systemd/system" / f"{unit}.d"
    folder.mkdir(exist_ok=True)
    shutil.copy(prefix / f"share/doc/rest-fcgi/{name}.conf", folder)
    assert verify(prefix, unit) == (0, "")
    shutil.rmtree(folder)


def test_the_units_run_jobs_as_another_user(installed):
    units = installed / "usr/lib/systemd/system"
    (address,) = re.findall(r"^ListenStream=(.*)$", (units / UNITS[4]).read_text(), re.MULTILINE)
    assert f"run_helper: unix:{address}\n" in (installed / "usr/share/doc/rest-fcgi/master.example").read_text()
    users = [re.findall(r"^User=(.*)$", (units / unit).read_text(), re.MULTILINE) for unit in (UNITS[0], UNITS[5])]
    assert users == [["rest_fcgi"], ["rest_fcgi_run"]]
    assert f"Wants={UNITS[4]}\n" in (units / UNITS[0]).read_text()


SERVICES = [UNITS[0], UNITS[3], UNITS[5], UNITS[7]]


# The exposure level of each service, as `systemd-analyze security` of systemd 252 prints it. A service without protection has a
# level of about 10.
EXPOSURE = {"rest_fcgi.service": "1.7", "rest_fcgi-pam@.service": "2.4", "rest_fcgi-run@.service": "1.7", "rest_fcgi-salt.service": "1.8"}


def test_the_exposure_of_the_services_is_unchanged(installed):
    version = run("systemctl", "--version")[1].split()[1]
    if version != "252":
        pytest.skip(f"the figures are of systemd 252, and this is {version}, which may rate otherwise")
    for unit, exposure in EXPOSURE.items():
        status, text = run("systemd-analyze", "security", "--offline=true", f"--root={installed}", "--no-pager", unit)
        assert status == 0 and f": {exposure} " in text, text


@pytest.mark.parametrize("unit", SERVICES)
def test_each_service_has_limits(installed, unit):
    text = (installed / "usr/lib/systemd/system" / unit).read_text()
    for limit in ("MemoryMax=", "TasksMax=", "SocketBindDeny=any", "LimitCORE=0"):
        assert re.search(f"^{limit}", text, re.MULTILINE), limit


def test_the_web_server_samples_use_the_socket_of_the_unit(installed):
    units = [(installed / "usr/lib/systemd/system" / unit).read_text() for unit in (UNITS[1], UNITS[6])]
    (path,) = {path for unit in units for path in re.findall(r"^ListenStream=(.*)$", unit, re.MULTILINE)}
    for site in ("nginx/sites-available/rest_fcgi", "apache2/sites-available/rest_fcgi.conf"):
        assert f"unix:{path}" in (installed / "etc" / site).read_text()


def test_sysusers_creates_the_users(root):
    assert run("systemd-sysusers", f"--root={root}", "rest_fcgi.conf")[0] == 0
    lines = (root / "etc/passwd").read_text().splitlines()
    assert sorted(line.split(":")[0] for line in lines) == ["rest_fcgi", "rest_fcgi_run"]
    assert all(line.endswith(":/usr/sbin/nologin") for line in lines)
    groups = (root / "etc/group").read_text().splitlines()
    assert sorted(line.split(":")[0] for line in groups) == ["rest_fcgi", "rest_fcgi_run"]


@NEEDS_ROOT
def test_tmpfiles_makes_the_configuration_readable_for_the_group(root):
    master = root / "etc/rest_fcgi/master"
    master.parent.mkdir()
    master.write_text("timeout: 7\n")
    run("systemd-sysusers", f"--root={root}", "rest_fcgi.conf")
    assert run("systemd-tmpfiles", f"--root={root}", "--create", "rest_fcgi.conf") == (0, "")
    (group,) = re.findall(r"^rest_fcgi:x:(\d+):", (root / "etc/group").read_text(), re.MULTILINE)
    group = int(group)
    for path, mode in [(root / "etc/rest_fcgi", 0o750), (master, 0o640)]:
        status = path.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (0, group, mode)
    assert stat.S_IMODE((root / "run/rest_fcgi").stat().st_mode) == 0o755


def test_the_manual_page_has_no_warning_and_names_every_option(prefix):
    page = prefix / "share/man/man8/rest_fcgi.8"
    status, text = run("sh", "-c", 'man --warnings -l "$1" 2>&1 >/dev/null', "-", page)
    assert (status, text) == (0, "")
    text = run("man", "-l", page, env={"MANWIDTH": "200"})[1]
    options = re.findall(r"--[a-z-]+[a-z]", daemons.run("--help").stdout)
    assert len(options) > 5
    for option in options:
        assert re.search(rf"{option}\b", text), option


@pytest.fixture
def rotation(directory, root):
    """Returns a function that rotates the logs of a test's folder with logrotate. The argument is the folder below /var/log."""
    if not os.path.exists("/usr/sbin/logrotate"):
        pytest.skip("logrotate is needed")
    me = f"{pwd.getpwuid(os.geteuid()).pw_name} {grp.getgrgid(os.getegid()).gr_name}"
    text = (root / "etc/logrotate.d/rest_fcgi").read_text()
    text = text.replace("/var/log/", f"{directory}/").replace("su rest_fcgi rest_fcgi", f"su {me}")
    (directory / "rotate").write_text(text)
    (directory / "rotate").chmod(0o644)

    def rotate(name, pid):
        systemctl = directory / "systemctl"
        systemctl.write_text(f'#!/bin/sh\ncase "$*" in "--quiet is-active {name}.service") ;; *" --signal=HUP {name}.service") kill -HUP {pid} ;; *) exit 3 ;; esac\n')
        systemctl.chmod(0o755)
        return run(
            *["logrotate", "--force", "--state", directory / "state", directory / "rotate"],
            env={"PATH": f"{directory}:{TOOLS}"},
        )

    return rotate


@pytest.mark.parametrize("name", ["rest_fcgi", "rest_fcgi-salt"])
def test_logs_are_reopened_after_a_rotation(rotation, directory, start, name):
    logs = directory / name
    logs.mkdir()
    audit = logs / "audit.log"
    daemon = start({"rest_fcgi": {"audit_log": str(audit)}})
    ping = fastcgi.request(json.dumps([local("test.ping")]).encode())
    fastcgi.talk(daemon.address, ping)
    assert rotation(name, daemon.pid) == (0, "")
    daemon.await_log("configuration reread")
    fastcgi.talk(daemon.address, ping)
    assert len((logs / "audit.log.1").read_text().splitlines()) == 1
    assert len(audit.read_text().splitlines()) == 1
