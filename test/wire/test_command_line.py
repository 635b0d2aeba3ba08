# SPDX-License-Identifier: MIT

import contextlib
import json
import re
import socket

import pytest

from support import daemon as daemons


@pytest.fixture
def master(directory):
    """Writes a master file. Examples: master("rest_fcgi: {}"), master({"rest_fcgi": {}})."""

    def write(content):
        path = directory / "master"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def refused(result, *texts):
    """Checks that the program ended with status 78 and one line with all `texts`."""
    assert result.returncode == 78 and result.stdout == "", result
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for text in texts:
        assert text in result.stderr, result.stderr


def test_version_and_help_need_no_configuration():
    version, usage = daemons.run("--version"), daemons.run("--help")
    assert version.returncode == 0 and version.stdout.startswith("rest_fcgi ")
    assert usage.returncode == 0
    for option in ["--config", "--listen", "--log-level", "--check-config", "--mk-token", "--explain", "--version", "--help"]:
        assert option in usage.stdout


RULES = '''external_auth:
  auto:
    alice:
      - test.*
      - 'web*':
          - sys.doc
      - '@runner'
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
    assert explain("alice", "sys.doc", "web1")[0] == 0
    status, text = explain("alice", "manage.up", "@runner")
    assert status == 0 and f"  {path}:7: alice: @runner: allows it" in text
    assert explain("eve", "test.ping", "*")[0] == explain("alice", "key.list_all", "@wheel")[0] == 1


@pytest.fixture
def salt_config(directory):
    """A master file with `engine: salt`. The master does not run."""
    return daemons.master_config(directory, {"sock_dir": str(directory), "ret_port": 1, "rest_fcgi": {"engine": "salt"}})


@contextlib.contextmanager
def event_socket(directory, mode=0o600, name="master_event_pub.ipc"):
    """Creates a listening socket in place of a master's event bus."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = directory / name
        listener.bind(str(path))
        path.chmod(mode)
        listener.listen()
        yield path


def summary_of(path):
    """Returns a map from the name of each line of --check-config to the line."""
    result = daemons.run("--config", path, "--check-config")
    assert (result.returncode, result.stderr) == (0, ""), result
    lines = {}
    for line in result.stdout.splitlines():
        name, _, text = line.partition(":")
        lines.setdefault(name, []).append(text.strip())
    return lines


def test_check_config_says_whether_the_event_bus_can_be_joined(master, directory, salt_config):
    path = master(salt_config)
    bus = directory / "master_event_pub.ipc"
    hint = "is the Salt master running, with this sock_dir and ipc_mode?"
    assert summary_of(path)["events"] == [f"cannot be joined: {bus}: No such file or directory; {hint}"]
    with event_socket(directory):
        assert summary_of(path)["events"] == ["can be joined by this user"]
    assert summary_of(path)["events"] == [f"cannot be joined: {bus}: Connection refused; {hint}"]


def test_check_config_reads_certificates(master, directory):
    missing = directory / "nosuch.pem"
    section = {"port": 8000, "ssl_crt": str(missing), "ssl_key": str(missing)}
    path = master({"cachedir": str(directory), "rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": section})
    refused(daemons.run("--config", path, "--check-config"), f"rest_cherrypy: ssl_crt: {missing}: No such file")


def test_every_mistake_has_file_and_line(master):
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
    ):
        path = master(text)
        result = daemons.run("--config", path, "--check-config")
        assert result.returncode == 78 and re.match(rf"rest_fcgi: {re.escape(str(path))}:\d+: ", result.stderr), (text, result)
    path = master("master_job_cache: etcd\netcd.ca: /nosuch\n")
    checked = daemons.run("--config", path, "--check-config")
    assert f"warning:  {path}:2: etcd.ca: /nosuch: cannot be read: No such file" in checked.stdout


def test_explain_is_not_for_a_real_master(master, salt_config):
    refused(
        daemons.run("--config", master(salt_config), "--explain", "alice", "test.ping", "*"),
        "--explain", "engine: salt",
    )


def test_a_token_of_an_unavailable_master_is_a_failure_and_not_a_refusal(master, salt_config):
    made = daemons.run("--config", master(salt_config), "--mk-token", "pam:fred", stdin="secret\n")
    assert (made.returncode, made.stdout) == (70, "")
    assert made.stderr == "rest_fcgi: Salt Master is not available.\n"


def test_the_engine_salt_starts_without_its_master_and_with_rules_that_it_cannot_read(start, directory):
    rules = {"pam": {"fred": [5, {"*": ["(x"]}, "test.*"]}}
    daemon = start({"sock_dir": str(directory), "ret_port": 1, "external_auth": rules, "rest_fcgi": {"engine": "salt"}})
    daemon.await_log("external_auth: pam: fred: found 5, expected ")
    daemon.await_log('external_auth: pam: fred: "(x" is neither an exact name nor a regular expression')
    daemon.await_log(f"event bus cannot be joined: {directory}/master_event_pub.ipc: No such file or directory")
    assert daemon.stop() == 0
