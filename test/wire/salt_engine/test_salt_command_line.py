# SPDX-License-Identifier: MIT

import pytest
from rows import local
from support import daemon as daemons
from support.api import CRED

pytestmark = pytest.mark.parametrize("salt", ["3006", "3008"], indirect=True)


def make_token(engine, who, password):
    return daemons.run("--config", engine.config_path, "--mk-token", who, stdin=password + "\n")


def test_check_config_finds_the_masters_event_bus(salt, engine):
    checked = daemons.run("--config", engine.config_path, "--check-config")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "\nevents:   can be joined by this user\n" in checked.stdout


def test_mk_token_gets_a_token_from_the_master(salt, engine):
    made = make_token(engine, "file:saltdev", "x")
    assert (made.returncode, made.stderr) == (0, "")
    login = {"token": made.stdout.strip()}
    assert engine.run(local("test.ping", "ms-0", cred=login)) == [{"ms-0": True}]


def test_mk_token_reports_a_refusal_of_the_master(salt, engine):
    made = make_token(engine, "sharedsecret:admin", "wrong")
    assert (made.returncode, made.stdout) == (77, "")
    assert made.stderr.startswith("rest_fcgi: ") and len(made.stderr.splitlines()) == 1


def test_a_malformed_rule_forbids_lists_of_functions_only(salt, start_engine):
    rules = {"external_auth": {"file": {"saltdev": ["test.ping", 5, {"*": ["(grains", "test.echo"]}]}}}
    engine = start_engine(rules)
    engine.await_log("external_auth: file: saltdev: found 5, expected ")
    engine.await_log('"(grains" is neither an exact name')
    assert engine.run(local("test.echo", "ms-0", cred=CRED, arg=["a"])) == [{"ms-0": "a"}]
    both = local(["test.ping", "test.echo"], "ms-0", cred=CRED, arg=[[], ["a"]])
    assert engine.post(both).status == 401
    twice = local(["test.ping", "test.ping"], "ms-0", cred=CRED, arg=[[], []])
    assert engine.post(twice).status == 200
