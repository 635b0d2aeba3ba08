# SPDX-License-Identifier: MIT
"""The command line and the configuration: what is accepted, and one line for each mistake, with status 78."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess

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


def test_salt_issue_3077_the_line_that_allows_or_refuses_a_call_is_explained(master):
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


def test_a_malformed_question_is_refused(master):
    refused(daemons.run("--config", master(RULES), "--explain", "alice", "test.ping"), "USER FUN TGT")
    refused(daemons.run("--config", master(RULES), "--explain", "alice", "test.ping", "web1 and"), "compound target")


def test_a_malformed_target_of_a_rule_is_named_with_file_and_line(master):
    path = master(RULES.replace("'web*'", "'web* and'"))
    refused(daemons.run("--config", path, "--check-config"), f"{path}:5: external_auth: auto: alice: the target 'web* and'")


def test_check_config_notes_functions_and_targets_of_rules_that_match_nothing(master):
    rules = RULES.replace("test.*", "test.pnig").replace("'web*'", "'wbe1'")
    text = daemons.run("--config", master(rules), "--check-config").stdout
    path = master(rules)
    assert f"note:     {path}:4: external_auth: auto: alice: \"test.pnig\": " in text and "did you mean 'test.ping'?" in text
    assert f"note:     {path}:5: external_auth: auto: alice: \"wbe1\": " in text and "did you mean 'web1'?" in text
    text = daemons.run("--config", master(rules.replace("rest_fcgi:", "rest_fcgi:\n  engine: salt")), "--check-config").stdout
    assert text and "test.pnig" not in text and "wbe1" not in text


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


def test_malformed_yaml_is_named_with_file_and_line(master):
    path = master("rest_fcgi:\n  listen: [\n")
    refused(daemons.run("--config", path), f"{path}:")


def test_other_keys_of_salt_are_ignored(master):
    path = master({"interface": "0.0.0.0", "worker_threads": 5, "rest_cherrypy": {"port": 8000}})
    assert daemons.run("--config", path, "--check-config").returncode == 0


def test_a_listen_address_beyond_loopback_needs_allow_remote(master, directory):
    path = master({"cachedir": str(directory)})
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
    for name in ["local_async", "wheel", "file", "embedded"]:
        assert name in result.stdout


def test_check_config_says_when_nothing_is_on(master):
    result = daemons.run("--config", master({}), "--check-config")
    assert result.returncode == 0
    assert "netapi_enable_clients" in result.stdout and "external_auth" in result.stdout


def test_the_example_master_file_is_right():
    result = daemons.run("--config", daemons.ROOT / "deploy/master.example", "--check-config")
    assert result.returncode == 0, result.stderr


REAL_MASTER = daemons.ROOT / "test/config/real.master"


@pytest.fixture
def salt_config(directory):
    """A master file for the engine salt whose master does not run, nor has a socket."""
    return daemons.master_config(directory, {"sock_dir": str(directory), "ret_port": 1, "rest_fcgi": {"engine": "salt"}})


@contextlib.contextmanager
def event_socket(directory, mode=0o600, name="master_event_pub.ipc"):
    """Where a master's event bus would be."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = directory / name
        listener.bind(str(path))
        path.chmod(mode)
        listener.listen()
        yield path


def summary_of(path):
    """What --check-config says of a configuration that is right, by the names of its lines."""
    result = daemons.run("--config", path, "--check-config")
    assert (result.returncode, result.stderr) == (0, ""), result
    lines = {}
    for line in result.stdout.splitlines():
        name, _, text = line.partition(":")
        lines.setdefault(name, []).append(text.strip())
    return lines


def test_a_real_masters_own_file_is_accepted_with_a_warning_for_each_rule_that_cannot_be_read():
    lines = summary_of(REAL_MASTER)
    assert lines["eauth"] == ["pam, ldap, keystone, django, rest, file, auto, yubico, mysql"]
    source = REAL_MASTER.read_text().splitlines()
    marks = ["{one: [a], two: [b]}", "jobs.active: {args: [7]}", "grace: test.ping", "mysql: [dave]", "'(test|grains', sys.doc"]
    numbers = [next(at for at, line in enumerate(source, 1) if mark in line) for mark in marks]
    warnings = [line for line in lines["warning"] if "salt_ssh: program" not in line]  # the host may have no salt-ssh
    assert len(warnings) == len(marks)
    for warning, number in zip(warnings, numbers):
        assert warning.startswith(f"{REAL_MASTER}:{number}: external_auth: ")
        assert "the Salt master decides" in warning


def test_the_same_file_is_a_mistake_for_the_engine_that_has_to_understand_it(master):
    path = master(REAL_MASTER.read_text().replace("engine: salt", "engine: embedded"))
    refused(daemons.run("--config", path, "--check-config"), f"{path}:")


def test_check_config_says_whether_the_event_bus_can_be_joined(master, directory, salt_config):
    path = master(salt_config)
    bus = directory / "master_event_pub.ipc"
    hint = "is the Salt master running, with this sock_dir and ipc_mode?"
    assert summary_of(path)["events"] == [f"cannot be joined: {bus}: No such file or directory; {hint}"]
    with event_socket(directory):
        assert summary_of(path)["events"] == ["can be joined by this user"]
    assert summary_of(path)["events"] == [f"cannot be joined: {bus}: Connection refused; {hint}"]


def test_check_config_says_whether_hooks_can_be_fired(master, directory, salt_config):
    assert "hooks" not in summary_of(master(salt_config))
    path = master(daemons.merge(salt_config, {"rest_fcgi": {"netapi": ["rest_cherrypy"]}}))
    (hooks,) = summary_of(path)["hooks"]
    assert hooks.startswith(f"cannot be fired: {directory}/master_event_pull.ipc: No such file or directory")
    with event_socket(directory, name="master_event_pull.ipc"):
        assert summary_of(path)["hooks"] == ["can be fired by this user"]


def test_check_config_says_which_interface_answers_where(master, directory):
    cherrypy = {"port": 8000, "disable_ssl": True, "log_access_file": str(directory / "access")}
    sections = {"cachedir": str(directory), "rest_cherrypy": cherrypy, "rest_tornado": {"port": 8001}}
    lines = summary_of(master({**sections, "rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}}))
    assert lines["serves"] == ["rest_wsgi at / over FastCGI", "rest_cherrypy at http://0.0.0.0:8000, without TLS"]
    assert "rest_tornado" in lines["unserved"][0] and "rest_fcgi: netapi" in lines["unserved"][0]
    assert lines["access"] == [str(directory / "access")]
    as_before = summary_of(master(sections))
    assert "serves" not in as_before and "rest_cherrypy, rest_tornado" in as_before["unserved"][0]


def test_check_config_reads_certificates(master, directory):
    missing = directory / "nosuch.pem"
    section = {"port": 8000, "ssl_crt": str(missing), "ssl_key": str(missing)}
    path = master({"cachedir": str(directory), "rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": section})
    refused(daemons.run("--config", path, "--check-config"), f"rest_cherrypy: ssl_crt: {missing}: No such file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as a user who may not connect")
def test_check_config_says_which_permission_the_event_bus_needs(master, directory, salt_config):
    binary = shutil.copy(daemons.BINARY, directory / "rest_fcgi")
    path = master(salt_config)
    directory.chmod(0o755)
    with event_socket(directory, 0o660) as bus:
        result = subprocess.run(
            [binary, "--config", path, "--check-config"], capture_output=True, text=True, user=65534, group=65534, extra_groups=[]
        )
    assert (result.returncode, result.stderr) == (0, ""), result
    assert (
        f"events:   cannot be joined: no permission to connect to {bus}, which has mode 0660, owner root, group root: "
        "the responder's user nobody needs to be in the group root\n"
    ) in result.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as a user who may not read")
def test_files_that_cannot_be_read_are_named_with_mode_owner_and_group(master, directory):
    binary = shutil.copy(daemons.BINARY, directory / "rest_fcgi")
    directory.chmod(0o755)
    section = {"port": 1, "ssl_crt": str(directory / "tls.pem"), "ssl_key": str(directory / "tls.pem")}
    path = master({"include": "more.conf", "rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": section})
    more, certificate = directory / "more.conf", directory / "tls.pem"
    for file in (more, certificate):
        file.write_text("")

    def check():
        argv = [binary, "--config", path, "--check-config"]
        return subprocess.run(argv, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])

    for file in (path, more, certificate):
        file.chmod(0o640)
        access = f"no permission to read {file}, which has mode 0640, owner root, group root: the responder's user nobody needs"
        refused(check(), access, "to be in the group root")
        file.chmod(0o644)


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


def test_with_the_engine_salt_an_address_that_cannot_be_opened_is_one_line(master, directory, salt_config):
    path = master(salt_config)
    refused(daemons.run("--config", path, "--listen", "tcp:0.0.0.0:9001"), "allow_remote")
    missing = directory / "nosuch/fcgi.sock"
    refused(daemons.run("--config", path, "--listen", f"unix:{missing}"), str(missing), "No such file or directory")


def test_with_the_engine_salt_a_malformed_address_of_the_master_is_a_mistake(master, salt_config):
    path = master({**salt_config, "interface": "not an address"})
    refused(daemons.run("--config", path, "--check-config"), "not an address")
    refused(daemons.run("--config", path), "not an address")


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


def loaded(daemon):
    """The shared libraries that a process has, by their names without versions."""
    return set(re.findall(r"/(lib[\w-]+)\S*\.so", open(f"/proc/{daemon.pid}/maps").read()))


def test_rarely_needed_libraries_are_loaded_only_when_they_are_used(start, directory, master):
    in_front_of_a_master = {"sock_dir": str(directory), "ret_port": 1, "rest_fcgi": {"engine": "salt"}}
    with_etcd = {"master_job_cache": "etcd", "etcd.host": "127.0.0.1", "etcd.port": 1}
    for changes, wanted in (({}, set()), (in_front_of_a_master, {"libzmq"}), (with_etcd, {"libcurl"})):
        assert loaded(start(changes)) & {"libfcgi", "libcurl", "libzmq"} == {"libfcgi"} | wanted
    for changes, library, what in (
        (in_front_of_a_master, "libzmq.so.5", "a Salt master is spoken to with libzmq (Debian's package libzmq5)"),
        (with_etcd, "libcurl.so.4", "etcd is spoken to with libcurl (Debian's package libcurl4)"),
    ):
        (directory / library).write_text("no library")
        result = daemons.run("--config", master(daemons.master_config(directory, changes)), env={"LD_LIBRARY_PATH": str(directory)})
        refused(result, f"{what}, which cannot be loaded", f"{directory}/{library}")
