# SPDX-License-Identifier: MIT

import concurrent.futures
import os
import struct
import time

import pytest

from support.pam_helper import BUSY, CHECK, FAILED, GOOD, REFUSED, VERIFY, answers, ask, frame, helper
from support.process import socket_of, wait_until


def test_the_helper_answers_requests_in_order(directory):
    (directory / "there").write_text("auth required pam_deny.so\n")
    requests = [frame(CHECK, service, "", "", "") for service in ("there", "nosuch", "../there")]
    result = helper("--confdir", str(directory), stdin=b"".join(requests))
    good, missing, odd = answers(result.stdout)
    assert good == (1, "") and odd == (3, "the name of the PAM service is malformed")
    assert missing == (2, f"the PAM service nosuch has no file in {directory}")
    assert result.returncode == 0


@pytest.mark.parametrize(
    "what", [frame(CHECK, "a", "", "", "", version=2), frame(9, "a", "", "", ""), frame(CHECK, "a"), b"\0\0\0\0"]
)
def test_a_malformed_request_ends_the_helper(what):
    result = helper(stdin=what)
    assert result.returncode == 77 and result.stdout == b""
    assert result.stderr.startswith(b"rest_fcgi_pam: found a malformed request") and result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("what", [b"\xff\xff\xff\xff", frame(CHECK, "a", "", "", "")[:-1]])
def test_an_oversized_or_truncated_request_ends_the_helper_without_an_answer(what):
    result = helper(stdin=what)
    assert (result.returncode, result.stdout) == (0, b"")


@pytest.mark.parametrize("user, outcomes", [("daemon", [GOOD]), ("root", [GOOD]), ("nobody", [])])
def test_the_helper_answers_the_named_peer_and_root_only(directory, user, outcomes):
    (directory / "there").write_text("auth required pam_deny.so\n")
    with socket_of(user, frame(CHECK, "there", "", "", "")) as connection:
        result = helper("--confdir", str(directory), "--peer", "daemon", stdin=connection)
    assert [outcome for outcome, _ in answers(result.stdout)] == outcomes, result
    assert outcomes or result.returncode == 77


def test_the_helper_refuses_input_that_is_not_a_socket():
    result = helper("--peer", "nobody", stdin=frame(CHECK, "a", "", "", ""))
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
    accounts = "account required pam_permit.so\n"
    found = ask(directory, {name: text + accounts for name, text in NOT_ASKING.items()}, VERIFY, list(NOT_ASKING))
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


def tries(stacks, service, count, rate):
    """Returns the outcomes of `count` logins in one helper. Helpers with the same folder share their count."""
    request = frame(VERIFY, service, "rfcgi_nobody", "sesame", "")
    options = ["--confdir", str(stacks), "--rate", str(rate)]
    return [outcome for outcome, _ in answers(helper(*options, stdin=request * count, RUNTIME_DIRECTORY=str(stacks)).stdout)]


def test_all_helpers_together_limit_the_rate_of_wrong_passwords(stacks):
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = sum(pool.map(lambda _: tries(stacks, "no", 2, 1), range(16)), [])
    took = time.monotonic() - began
    assert len(found) == 32 and set(found) <= {REFUSED, BUSY}
    assert found.count(REFUSED) <= 5 + took * 1 + 1


def test_good_passwords_have_no_rate_limit(stacks):
    assert set(tries(stacks, "yes", 30, 1)) == {GOOD}
    (paid,) = struct.unpack("=q", (stacks / "failures").read_bytes())
    assert paid <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_a_password_with_a_nul_is_refused(stacks):
    request = frame(VERIFY, "yes", "rfcgi_nobody", "sesame\0more", "")
    assert answers(helper("--confdir", str(stacks), stdin=request).stdout) == [(REFUSED, "the password contains a NUL byte")]


@pytest.mark.parametrize("damage", [b"", b"\xff" * 7 + b"\x7f", b"\xff" * 8, b"short"])
def test_a_damaged_count_file_blocks_no_login(stacks, damage):
    (stacks / "failures").write_bytes(damage)
    wait_until(lambda: tries(stacks, "no", 1, 2) == [REFUSED], "half a second makes room for one")


def test_a_helper_without_a_shared_folder_counts_alone(stacks):
    (stacks / "failures").mkdir()
    assert set(tries(stacks, "yes", 7, 1)) == {GOOD}
    request = frame(VERIFY, "no", "rfcgi_nobody", "sesame", "")
    result = helper("--confdir", str(stacks), stdin=request, RUNTIME_DIRECTORY=str(stacks))
    assert b"failures: Is a directory; " in result.stderr
