# SPDX-License-Identifier: MIT
"""The command line and the configuration: what is accepted, and one line for each mistake, with status 78."""

import json

import pytest

from support import daemon as daemons


@pytest.fixture
def master(directory):
    """Writes a master file: master("rest_fcgi: {}") or master({"rest_fcgi": {}})."""

    def write(content):
        path = directory / "master"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def refused(result, *texts):
    """Ended with 78 and one line that has the texts."""
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


def test_the_line_that_allows_or_refuses_a_call_is_explained(master):
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
    assert status == 1 and f"  {path}:6: alice: web*: sys.doc: does not allow it: '*' reaches db1" in text
    assert explain("alice", "sys.doc", "web1")[0] == 0
    status, text = explain("alice", "manage.up", "@runner")
    assert status == 0 and f"  {path}:7: alice: @runner: allows it" in text
    assert explain("eve", "test.ping", "*")[0] == explain("alice", "key.list_all", "@wheel")[0] == 1


def test_a_question_that_is_none_is_refused(master):
    refused(daemons.run("--config", master(RULES), "--explain", "alice", "test.ping"), "USER FUN TGT")
    refused(daemons.run("--config", master(RULES), "--explain", "alice", "test.ping", "web1 and"), "compound target")


def test_a_target_of_a_rule_that_is_none_is_named_with_file_and_line(master):
    path = master(RULES.replace("'web*'", "'web* and'"))
    refused(daemons.run("--config", path, "--check-config"), f"{path}:5: external_auth: the target 'web* and'")


def test_an_unknown_option_is_named():
    refused(daemons.run("--nosuch"), "nosuch")


def test_a_missing_file_is_named(directory):
    refused(daemons.run("--config", directory / "nosuch"), str(directory / "nosuch"))


def test_an_unknown_key_of_our_section_is_named_with_file_and_line(master):
    path = master("netapi_enable_clients: [local]\nrest_fcgi:\n  max_threads: 4\n  max_thread: 4\n")
    refused(daemons.run("--config", path), f"{path}:4: ", "max_thread")


def test_a_wrong_type_is_named_with_file_and_line(master):
    path = master("rest_fcgi:\n  max_threads: many\n")
    refused(daemons.run("--config", path), f"{path}:2: ", "max_threads", "many")


def test_text_that_is_no_yaml_is_named_with_file_and_line(master):
    path = master("rest_fcgi:\n  listen: [\n")
    refused(daemons.run("--config", path), f"{path}:")


def test_keys_of_salts_that_mean_nothing_here_are_left_alone(master):
    path = master({"interface": "0.0.0.0", "worker_threads": 5, "rest_cherrypy": {"port": 8000}})
    assert daemons.run("--config", path, "--check-config").returncode == 0


def test_a_listen_address_beyond_loopback_needs_leave(master, directory):
    path = master({"token_dir": str(directory / "tokens")})
    refused(daemons.run("--config", path, "--listen", "tcp:0.0.0.0:9001"), "allow_remote")


def test_the_configuration_is_found_through_the_environment(master):
    path = master({"rest_fcgi": {"max_threads": "many"}})
    refused(daemons.run(env={"SALT_MASTER_CONFIG": str(path)}), str(path))


def test_files_of_default_include_are_merged(master, directory):
    path = master({"netapi_enable_clients": ["runner"]})
    (directory / "master.d").mkdir()
    (directory / "master.d/clients.conf").write_text("netapi_enable_clients: [local]\n")
    report = daemons.run("--config", path, "--check-config").stdout
    assert "local" in report


def test_check_config_lists_what_is_on(directory, master):
    result = daemons.run("--config", master(daemons.master_config(directory)), "--check-config")
    assert result.returncode == 0
    for name in ["local_async", "wheel", "auto", "embedded"]:
        assert name in result.stdout


def test_check_config_says_when_nothing_is_on(master):
    result = daemons.run("--config", master({}), "--check-config")
    assert result.returncode == 0
    assert "netapi_enable_clients" in result.stdout and "external_auth" in result.stdout


def test_the_example_master_file_is_right():
    result = daemons.run("--config", daemons.ROOT / "deploy/master.example", "--check-config")
    assert result.returncode == 0, result.stderr
