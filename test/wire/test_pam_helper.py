# SPDX-License-Identifier: MIT

import os
import subprocess
import time

import pytest

from support.pam_helper import FAILED, GOOD, HELPER, REFUSED, ask, helper, request
from support.process import socket_of


def test_the_helper_says_whether_a_service_has_a_file(directory):
    (directory / "there").write_text("auth required pam_deny.so\n")
    outcome, text = ask(directory, "THERE")
    assert (outcome, text) == (GOOD, "") or (outcome == FAILED and "may not read /etc/shadow" in text and os.geteuid() != 0)
    outcome, text = ask(directory, "nosuch")
    assert outcome == FAILED and text.startswith(f"the PAM service nosuch has no file in {directory}")


@pytest.mark.parametrize("what", [b"", b"\0\0\0\1x", request("../there"), request(""), request("a", "b", "x" * 8192)])
def test_a_malformed_or_oversized_request_gets_no_answer(what):
    result = helper(stdin=what)
    assert result.returncode == 77 and result.stdout == b""
    assert result.stderr.startswith(b"rest_fcgi_pam: found a malformed request") and result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("user, is_answered", [("daemon", True), ("root", True), ("nobody", False)])
def test_the_helper_answers_the_named_peer_and_root_only(directory, user, is_answered):
    (directory / "there").write_text("auth required pam_deny.so\n")
    with socket_of(user, request("there")) as connection:
        result = helper("--confdir", str(directory), "--peer", "daemon", stdin=connection)
    assert bool(result.stdout) == is_answered, result
    assert is_answered or result.returncode == 77


def test_the_helper_refuses_input_that_is_not_a_socket():
    result = helper("--peer", "nobody", stdin=request("a"))
    assert result.returncode == 77 and result.stdout == b""
    assert b"refused: standard input must be a socket" in result.stderr and b"nobody" in result.stderr


# PAM services that accept root without a password.
NOT_ASKING = {
    "su": "auth sufficient pam_rootok.so\nauth required pam_unix.so\n",
    "included": "auth include su\n",
    "permit": "auth required pam_permit.so\n",
    "debug": "auth sufficient pam_debug.so\nauth required pam_unix.so\n",
    "jump": "auth [success=1 default=ignore] pam_debug.so\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="pam_rootok says yes only to root")
def test_a_service_that_does_not_ask_for_the_password_fails(directory):
    for name, text in NOT_ASKING.items():
        (directory / name).write_text(text + "account required pam_permit.so\n")
    found = {name: ask(directory, name, "rfcgi_nobody", "no password of theirs") for name in NOT_ASKING}
    assert {name: outcome for name, (outcome, _) in found.items()} == dict.fromkeys(NOT_ASKING, FAILED)
    assert "no module of this PAM service asked for the password" in found["su"][1]


@pytest.fixture
def stacks(directory):
    """Writes a PAM service that refuses every password, and a PAM service that accepts `sesame`."""
    (directory / "no").write_text("auth required pam_deny.so\n")
    script = directory / "asks"
    script.write_text('#!/bin/sh\nread -r word; test "$word" = sesame\n')
    script.chmod(0o700)
    accounts = "account required pam_permit.so\n"
    (directory / "yes").write_text(f"auth required pam_exec.so quiet expose_authtok {script}\n" + accounts)
    return directory


def test_a_password_with_a_nul_is_refused(stacks):
    assert ask(stacks, "yes", "rfcgi_nobody", "sesame\0more") == (REFUSED, "the password contains a NUL byte\n")


def test_the_helper_stays_for_a_second_after_a_wrong_password_only(stacks):
    def seconds(service):
        with subprocess.Popen([HELPER, "--confdir", stacks], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(request(service, "rfcgi_nobody", "sesame"))
            process.stdin.close()
            outcome = process.stdout.read()[:1].decode()
            answered = time.monotonic()
            assert process.wait(30) == 0
            return outcome, time.monotonic() - answered

    outcome, took = seconds("no")
    assert outcome == REFUSED and took > 0.9
    outcome, took = seconds("yes")
    assert outcome == GOOD and took < 0.9
