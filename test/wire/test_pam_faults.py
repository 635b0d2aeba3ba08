# SPDX-License-Identifier: MIT
"""What breaks in PAM while it is asked: each gets a defined answer and counts as a guess, nobody gets in, and others are not hindered."""

import os
import pathlib
import shlex
import subprocess

import pytest

from support import daemon as daemons

SOURCE = pathlib.Path(__file__).with_name("support") / "pam_faults.c"
NO_MODULE = not pathlib.Path("/usr/include/security/pam_ext.h").exists()
pytestmark = [
    pytest.mark.skipif(NO_MODULE, reason="the headers of PAM are not here"),
    pytest.mark.skipif(bool(daemons.SANITIZED), reason="a sanitizer has its own way with what crashes"),
]


@pytest.fixture
def api(start, front, directory):
    """Whoever brings the password `sesame` is good; their names say what breaks."""
    module, helper = directory / "pam_faults.so", directory / "helper"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", module, SOURCE, "-lpam"], check=True)
    (directory / "faults").write_text(f"auth required {module}\naccount required {module}\n")
    helper.write_text(f"#!/bin/sh\nexec {daemons.BINARY.parent / 'rest_fcgi_pam'} --rate 10000 --confdir {directory}\n")
    helper.chmod(0o700)
    guard = {"login_guard": {"tries": 2, "address_tries": 1000}}
    settings = {"auth.pam.service": "faults", "external_auth": {"pam": {"*": ["test.ping"]}}, "rest_fcgi": {"pam_helper": str(helper), **guard}}
    return front(start(settings))


def login(api, name, password="sesame"):
    return api.post({"eauth": "pam", "username": name, "password": password, "client": "local", "tgt": "ms-0", "fun": "test.ping"}).status


ENDS = ["exit", "abort", "crash", "close", "garbage", "memory", "fork", "nothing", "much"]


@pytest.mark.parametrize("step", ["auth", "account"])
@pytest.mark.parametrize("fault", ENDS)
def test_what_breaks_the_helper_is_our_failure_counts_and_hinders_nobody(api, step, fault):
    assert login(api, "good") == 200
    assert [login(api, f"{step}-{fault}") for _ in range(3)] == [500, 500, 429]
    assert login(api, "good") == 200
    assert login(api, "good", "wrong") == 401


@pytest.mark.parametrize("step", ["auth", "account"])
def test_whatever_a_step_answers_nobody_gets_in_but_by_a_yes(api, step):
    answers = {code: login(api, f"{step}-{code}") for code in range(-1, 40)}
    assert answers.pop(0) == 200
    assert answers.pop(9) == 503  # PAM_AUTHINFO_UNAVAIL
    assert set(answers.values()) == {401, 500}
    assert login(api, f"{step}-unheard") == 401
    assert login(api, "good") == 200


def test_a_helper_that_has_no_descriptors_any_more_is_replaced(api):
    assert login(api, "auth-descriptors") == 500
    assert login(api, "good") == 200
