# SPDX-License-Identifier: MIT
"""deploy/salt_ssh_client.py with a fake Salt. salt_engine/test_salt_ssh.py uses a real Salt."""

import json
import os
import subprocess
import sys

import pytest
from support.daemon import ROOT

CALL = {"tgt": "web*", "tgt_type": "glob", "fun": "test.ping", "arg": [], "kwarg": {}, "jid": "1"}

CONFIG = """
import json
def api_config(path):
    return json.load(open(path))
"""
CLIENT = """
class SSHClient:
    def __init__(self, mopts, disable_custom_roster):
        assert disable_custom_roster
        self.opts = mopts
    def cmd_sync(self, low):
        opts = self.opts
        import subprocess, salt.client.ssh
        {does}
"""
SSH = """
class SSH:
    def _expand_target(self):
        raise AssertionError("a target was looked up")
    _update_targets = _expand_target
"""


@pytest.fixture
def run(tmp_path):
    """Runs the program with a Salt whose client executes `does`. Example: run("return 1", request)."""
    config = tmp_path / "etc/master"
    (tmp_path / "etc/rosters").mkdir(parents=True)
    (tmp_path / "etc/rosters/dmz").touch()
    config.write_text(json.dumps({"rosters": ["/nosuch", str(tmp_path / "etc/rosters")]}))

    def runner(does, **request):
        files = {"__init__": "", "config": CONFIG, "client/__init__": "", "client/ssh/__init__": SSH}
        files["client/ssh/client"] = CLIENT.format(does=does)
        for name, text in files.items():
            path = tmp_path / f"lib/salt/{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run(
            [sys.executable, ROOT / "deploy/salt_ssh_client.py", config],
            input=json.dumps({**CALL, **request}).encode(),
            capture_output=True,
            env={"PYTHONPATH": str(tmp_path / "lib"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
            timeout=60,
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    return runner


def test_a_call_reaches_salt_unchanged_with_arguments_as_text(run):
    low = run("return low", arg=["a", "-x", 1, None, True, [1, "b"]], timeout=5, roster="flat", unknown="x")["return"]
    assert low.pop("arg") == ["a", "-x", "1", "null", "true", '[1, "b"]']
    assert low == {**{key: one for key, one in CALL.items() if key != "arg"}, "timeout": 5, "roster": "flat"}


def test_a_roster_file_comes_from_the_folders_of_the_master_file(run, tmp_path):
    assert run("return opts['config_dir']")["return"] == str(tmp_path / "etc")
    assert run("return low['roster_file']", roster_file="dmz")["return"] == str(tmp_path / "etc/rosters/dmz")
    answer = run("return 1", roster_file="nosuch")
    assert answer["kind"] == "invocation" and "'nosuch'" in answer["error"]


def test_a_target_is_not_resolved_as_a_host_name(run):
    assert run("return [salt.client.ssh.SSH()._expand_target(), salt.client.ssh.SSH()._update_targets()]")["return"] == [None, None]


def test_output_of_salt_does_not_disturb_the_answer(run):
    does = "print('garbage'); subprocess.run(['cat']); subprocess.run(['echo', 'garbage']); return 'fine'"
    assert run(does) == {"return": "fine"}


def test_values_that_json_lacks_are_replaced(run):
    assert run("return {'a': float('nan'), 'b': {1: b'x'}, 'c': '\\udcff', 'd': (1,)}") == {
        "return": {"a": None, "b": {"1": "b'x'"}, "c": "?", "d": [1]}
    }


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        ("type('SaltInvocationError', (Exception,), {})('no such thing')", "invocation", "no such thing"),
        ("type('SaltClientError', (Exception,), {})('no keys')", "unavailable", "salt-ssh cannot run: no keys"),
        ("type('SaltSystemExit', (SystemExit,), {})('no ssh')", "unavailable", "salt-ssh cannot run: no ssh"),
        ("PermissionError(13, 'Permission denied', '/x')", "unavailable", "Permission denied: '/x'"),
        ("ImportError('No module named x')", "unavailable", "salt-ssh cannot run: No module named x"),
        ("ValueError('c4n4ry')", "internal", "ValueError in "),
        ("SystemExit('c4n4ry')", "internal", "SystemExit in "),
    ],
)
def test_an_exception_becomes_an_error_kind_without_arguments(run, raised, kind, text):
    answer = run(f"raise {raised}")
    assert answer["kind"] == kind and text in answer["error"]
    assert "c4n4ry" not in answer["error"]
