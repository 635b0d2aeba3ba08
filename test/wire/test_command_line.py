# SPDX-License-Identifier: MIT

import re

import pytest

from support import daemon as daemons


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


def test_a_master_that_does_not_run_gives_no_token_no_event_bus_and_explains_no_rule(master, directory):
    path = master(f"{{sock_dir: {directory}, cachedir: {directory}, ret_port: 1, rest_fcgi: {{engine: salt}}}}")
    made = daemons.run("--config", path, "--mk-token", "pam:fred", stdin="secret\n")
    assert (made.returncode, made.stdout) == (70, "")
    assert made.stderr == "rest_fcgi: Salt Master is not available.\n"
    explained = daemons.run("--config", path, "--explain", "alice", "test.ping", "*")
    assert explained.returncode == 78 and "--explain" in explained.stderr and "engine: salt" in explained.stderr
    checked = daemons.run("--config", path, "--check-config")
    (events,) = re.findall(r"^events: +(.*)", checked.stdout, re.MULTILINE)
    assert checked.returncode == 0 and f"{directory}/master_event_pub.ipc: No such file" in events and "this user can" not in events
