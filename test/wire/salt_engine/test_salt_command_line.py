# SPDX-License-Identifier: MIT

import pytest
from rows import local
from support import daemon as daemons
from support import salts

pytestmark = pytest.mark.parametrize("salt", [salts.SERIES[0], salts.SERIES[-1]], indirect=True)


def make_token(engine, who, password):
    return daemons.run("--config", engine.config_path, "--mk-token", who, stdin=password + "\n")


def test_check_config_finds_the_masters_event_bus(salt, engine):
    checked = daemons.run("--config", engine.config_path, "--check-config")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "\nevents:   this user can connect\n" in checked.stdout


def test_mk_token_prints_a_token_of_the_master_or_its_refusal(salt, engine):
    made = make_token(engine, "file:saltdev", "x")
    assert (made.returncode, made.stderr) == (0, "")
    login = {"token": made.stdout.strip()}
    assert engine.run(local("test.ping", "ms-0", cred=login)) == [{"ms-0": True}]
    refused = make_token(engine, "sharedsecret:admin", "wrong")
    assert (refused.returncode, refused.stdout) == (77, "")
    assert refused.stderr.startswith("rest_fcgi: ") and len(refused.stderr.splitlines()) == 1
