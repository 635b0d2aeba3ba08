# SPDX-License-Identifier: MIT
"""PAM modules that crash, hang or answer nonsense."""

import os
import pathlib
import shlex
import subprocess

import pytest

from support import daemon as daemons

SOURCE = pathlib.Path(__file__).with_name("support") / "pam_faults.c"
NO_MODULE = not pathlib.Path("/usr/include/security/pam_ext.h").exists()
pytestmark = [
    pytest.mark.skipif(NO_MODULE, reason="the headers of PAM are missing"),
    pytest.mark.skipif(bool(daemons.SANITIZED), reason="a sanitizer handles crashes itself"),
]


@pytest.fixture
def api(start, front, directory):
    """Starts a daemon whose PAM module accepts the password `sesame`. The user name selects the fault."""
    module, helper = directory / "pam_faults.so", directory / "helper"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", module, SOURCE, "-lpam"], check=True)
    (directory / "faults").write_text(f"auth required {module}\naccount required {module}\n")
    helper.write_text(f"#!/bin/sh\nexec {daemons.BINARY.parent / 'rest_fcgi_pam'} --confdir {directory}\n")
    helper.chmod(0o700)
    guard = {"login_guard": {"tries": 2, "address_tries": 1000}}
    settings = {"auth.pam.service": "faults", "external_auth": {"pam": {"*": ["test.ping"]}}, "rest_fcgi": {"pam_helper": str(helper), **guard}}
    return front(start(settings))


def login(api, name, password="sesame"):
    return api.post({"eauth": "pam", "username": name, "password": password, "client": "local", "tgt": "ms-0", "fun": "test.ping"}).status


FAULTS = ["exit", "abort", "crash", "close", "garbage", "memory", "fork", "nothing", "much"]


@pytest.mark.parametrize("step", ["auth", "account"])
def test_a_fault_in_the_helper_gets_500_counts_as_a_guess_and_disturbs_no_other_login(api, step):
    for fault in FAULTS:
        assert login(api, "good") == 200
        assert [login(api, f"{step}-{fault}") for _ in range(3)] == [500, 500, 429], fault
    assert login(api, "good") == 200
    assert login(api, "good", "wrong") == 401


def test_only_the_answer_success_lets_a_user_in(api):
    for step in ("auth", "account"):
        answers = {code: login(api, f"{step}-{code}") for code in range(-1, 40)}
        assert answers.pop(0) == 200
        assert answers.pop(9) == 503  # PAM_AUTHINFO_UNAVAIL
        assert set(answers.values()) == {401, 500}
        assert login(api, f"{step}-unheard") == 401
    assert login(api, "good") == 200


def test_a_helper_without_free_descriptors_disturbs_no_other_login(api):
    assert login(api, "auth-descriptors") == 500
    assert login(api, "good") == 200
