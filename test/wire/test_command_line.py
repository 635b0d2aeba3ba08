# SPDX-License-Identifier: MIT

import json
import re
import socket

import pytest

from support import daemon as daemons
from support import fastcgi
from support import pki
from support.api import local
from support.process import free_port


@pytest.fixture
def master(directory):
    """Writes a master file. Example: master("rest_fcgi: {}")."""

    def write(text):
        path = directory / "master"
        path.write_text(text)
        return path

    return write


RULES = '''external_auth:
  auto:
    alice:
      - test.*
      - 'web*':
          - sys.doc
rest_fcgi:
  allow_auto_eauth: true
  embedded: {minions: [web1, db1]}
'''


def test_salt_issue_3077_explain_names_the_rule_that_allows_or_refuses_a_call(master):
    path = master(RULES)

    def explain(*question):
        result = daemons.run("--config", path, "--explain", *question)
        assert result.stderr == ""
        return result.returncode, result.stdout

    assert explain("alice", "test.ping", "*") == (
        0,
        f"auto: may alice run test.ping on *?\n  {path}:4: alice: test.*: allows it\n  allowed\n",
    )
    status, text = explain("alice", "sys.doc", "*")
    assert status == 1 and f"  {path}:6: alice: web*: sys.doc: does not allow it: '*' also matches db1" in text


NO_PORT = {
    "a section that is not served": ("rest_cherrypy: {port: 8000}\n", ":1: rest_cherrypy: ", "netapi: [rest_cherrypy]"),
    "another section than the served one": (
        "rest_fcgi: {netapi: [rest_tornado]}\nrest_tornado: {debug: true}\nrest_cherrypy: {port: 8000}\n",
        ":3: rest_cherrypy: ",
        "netapi: [rest_tornado, rest_cherrypy]",
    ),
    "a section without a port": (
        "rest_fcgi: {netapi: [rest_tornado]}\nrest_tornado: {disable_ssl: true}\n",
        ":2: rest_tornado: ",
        "port: 8000",
    ),
    "no section": ("rest_fcgi: {netapi: [rest_cherrypy]}\n", "rest_cherrypy: found no port", "port: 8000"),
    "nothing": ("timeout: 5\n", "port: 8000", "netapi: [rest_cherrypy]"),
    "only the port for metrics": (
        "rest_fcgi: {metrics: {listen: 'unix:/tmp/rest_fcgi-unused'}}\nrest_cherrypy: {port: 8000}\n",
        ":2: rest_cherrypy: ",
        "netapi: [rest_cherrypy]",
    ),
}


@pytest.mark.parametrize("text, where, advice", NO_PORT.values(), ids=NO_PORT)
def test_a_start_without_a_port_names_the_section_and_the_line_that_serves_it(directory, master, text, where, advice):
    cache = f"cachedir: {directory}/cache\n"
    result = daemons.run("--config", master(text + cache))
    assert result.returncode == 78 and "nothing to listen on" in result.stderr, result
    assert where in result.stderr and advice in result.stderr, result.stderr


def test_every_mistake_has_file_and_line(master, directory):
    served = "rest_fcgi: {netapi: [rest_cherrypy, rest_tornado]}\n"
    for text in (
        "nodegroups: {a: N@b}\n",
        "external_auth: {file: {a: [test.ping]}}\n",
        "external_auth: {file: {a: [{'': [test.ping]}]}}\n",
        "external_auth: {sharedsecret: {a: [test.ping]}}\n",
        "rest_fcgi: {embedded: {script_user: nosuch-user}}\n",
        "rest_fcgi: {engine: salt}\ninterface: not an address\n",
        served + "rest_cherrypy: {webhook_url: /login}\n",
        served + "rest_cherrypy: {port: 1, ssl_crt: /nosuch}\n",
        served + "rest_tornado: {cors_origin: nothing}\n",
        "a:\n\tb: 1\n",
        "rest-fcgi: {engine: salt}\n",
        "rest_fcgi: {listen: 'unix:/tmp/s', socket_owner: nosuch-user}\n",
        "rest_fcgi: {listen: 'unix:/tmp/s', socket_group: nosuch-group}\n",
        "rest_fcgi: {listen: 'unix:/nosuch/s'}\n",
        "rest_fcgi: {listen: 'tcp:0.0.0.0:9000'}\n",
        "rest_fcgi: {engine: salt}\n",
        "rest_fcgi: {listen: 'unix:/tmp/s', log_file: /nosuch/log}\n",
        "rest_fcgi: {listen: 'unix:/tmp/s', audit_log: /nosuch/log}\n",
        "rest_fcgi: {metrics: {listen: 'unix:/nosuch/s'}}\n",
        served + "rest_cherrypy: {port: 8000, disable_ssl: true, log_access_file: /nosuch/log}\n",
        served + "rest_cherrypy: {port: 8000, disable_ssl: true}\nrest_tornado: {port: 8000, disable_ssl: true}\n",
        served + "rest_cherrypy: {port: 8000, host: 192.0.2.1, disable_ssl: true}\n",
        served.replace("{", "{metrics: {listen: '127.0.0.1:8000'}, ") + "rest_cherrypy: {port: 8000, disable_ssl: true}\n",
    ):
        path = master(text)
        result = daemons.run("--config", path, "--check-config")
        assert result.returncode == 78 and re.match(rf"rest_fcgi: {re.escape(str(path))}:\d+: ", result.stderr), (text, result)
        started = daemons.run("--config", master(f"cachedir: {directory}\n{text}"))
        assert started.returncode == 78, (text, started)
    path = master("master_job_cache: etcd\netcd.ca: /nosuch\nrest_fcgi: {listen: fd:0}\n")
    checked = daemons.run("--config", path, "--check-config")
    assert f"warning:  {path}:2: etcd.ca: /nosuch: cannot be read: No such file" in checked.stdout


def test_a_master_that_does_not_run_gives_no_token_no_event_bus_and_explains_no_rule(master, directory):
    path = master(f"{{sock_dir: {directory}, cachedir: {directory}, ret_port: 1, rest_fcgi: {{engine: salt, listen: 'fd:0'}}}}")
    made = daemons.run("--config", path, "--mk-token", "pam:fred", stdin="secret\n")
    assert (made.returncode, made.stdout) == (70, "")
    assert made.stderr == "rest_fcgi: Salt Master is not available. Nothing was sent.\n"
    explained = daemons.run("--config", path, "--explain", "alice", "test.ping", "*")
    assert explained.returncode == 78 and "--explain" in explained.stderr and "engine: salt" in explained.stderr
    checked = daemons.run("--config", path, "--check-config")
    (events,) = re.findall(r"^events: +(.*)", checked.stdout, re.MULTILINE)
    assert checked.returncode == 0 and f"{directory}/master_event_pub.ipc: No such file" in events and "this user can" not in events


def test_check_config_names_the_process_that_has_a_port_but_succeeds(master, directory):
    port = free_port()
    path = master(f"{{cachedir: {directory}, rest_fcgi: {{netapi: [rest_cherrypy]}}, rest_cherrypy: {{host: 127.0.0.1, port: {port}, disable_ssl: true}}}}")
    assert "listens there" not in daemons.run("--config", path, "--check-config").stdout
    with socket.create_server(("127.0.0.1", port)):
        checked = daemons.run("--config", path, "--check-config")
        (warning,) = re.findall(rf"^warning: .*port {port}: .*", checked.stdout, re.MULTILINE)
        assert checked.returncode == 0 and "python" in warning, checked
        started = daemons.run("--config", path)
        assert started.returncode == 78 and f":{port}: Address already in use: " in started.stderr and "python" in started.stderr


def test_check_config_warns_of_a_certificate_that_has_expired(master, directory):
    authority, port = pki.Authority(directory / "authority"), free_port()

    def check(days):
        _, certificate, _, key = authority.client("/CN=localhost", days=days, usage="serverAuth")
        section = f"port: {port}, host: 127.0.0.1, ssl_crt: {certificate}, ssl_key: {key}"
        return daemons.run("--config", master(f"{{cachedir: {directory}, rest_fcgi: {{netapi: [rest_cherrypy]}}, rest_cherrypy: {{{section}}}}}"), "--check-config")

    checked = check(days=0)
    assert checked.returncode == 0 and re.search(r"^warning: .*ssl_crt: .*expired$", checked.stdout, re.MULTILINE), checked
    assert "expired" not in check(days=2).stdout


def test_check_config_says_nothing_about_the_ports_of_the_running_service(on_port, directory):
    on_port()
    (path,) = directory.glob("*/master")
    checked = daemons.run("--config", path, "--check-config")
    assert checked.returncode == 0 and "listens there" not in checked.stdout, checked


def test_reload_returns_when_the_new_configuration_is_in_use_or_fails_with_the_reason(start, directory, monkeypatch):
    state = directory / "state"
    state.mkdir(mode=0o700)
    monkeypatch.setenv("STATE_DIRECTORY", str(state))
    daemon = start()

    def reload(changes):
        daemon.configure(changes)
        return daemons.run("--reload", env={"MAINPID": str(daemon.pid)})

    def minions():
        answer = fastcgi.talk(daemon.address, fastcgi.request(json.dumps([local("test.ping")]).encode()))
        return sorted(json.loads(answer.body)["return"][0])

    before = minions()
    for name in ("new-0", "new-1"):
        done = reload({"rest_fcgi": {"embedded": {"minions": {name: {}}}}})
        assert (done.returncode, done.stderr) == (0, "")
        assert minions() == sorted([*before, name])
    for wrong, reason in (
        ({"log_file": "/nosuch/log"}, "rest_fcgi: log_file: cannot open the log: /nosuch/log"),
        ({"metrics": {"listen": "unix:/nosuch/s"}}, "/nosuch/s"),
        ({"max_threads": 0}, "max_threads"),
    ):
        failed = reload({"rest_fcgi": wrong})
        assert failed.returncode == 78 and reason in failed.stderr, failed
        assert minions() == sorted([*before, "new-1"])
    assert list(state.glob("*.sock")) == []
    lost = daemons.run("--reload", env={"MAINPID": ""})
    assert lost.returncode == 78 and "systemctl reload" in lost.stderr
