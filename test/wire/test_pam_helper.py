# SPDX-License-Identifier: MIT
"""The helper that talks to PAM, by itself: what it is started with, what it is sent, and when it ends."""

import struct
import subprocess

import pytest

from support import daemon as daemons

HELPER = daemons.BINARY.parent / "rest_fcgi_pam"
CHECK = 2


def helper(*args, stdin=b""):
    return subprocess.run([HELPER, *args], input=stdin, capture_output=True, timeout=30)


def frame(ask, *texts, version=1):
    body = struct.pack(">BB", version, ask) + b"".join(struct.pack(">H", len(t)) + t.encode() for t in texts)
    return struct.pack(">I", len(body)) + body


def answers(output):
    """Outcomes and texts."""
    found = []
    while output:
        (size,) = struct.unpack(">I", output[:4])
        version, outcome, length = struct.unpack(">BBH", output[4:8])
        assert version == 1
        found.append((outcome, output[8 : 8 + length].decode()))
        output = output[4 + size :]
    return found


@pytest.mark.parametrize("args", [["--nosuch", "x"], ["--confdir"], ["--confdir", ""], ["x"]])
def test_an_argument_that_it_does_not_know_is_answered_with_its_usage(args):
    result = helper(*args)
    assert result.returncode == 64 and result.stderr.startswith(b"Usage: rest_fcgi_pam")


def test_it_ends_when_there_is_nothing_more_to_read():
    result = helper()
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_it_answers_requests_one_after_the_other(directory):
    (directory / "there").write_text("auth required pam_permit.so\n")
    requests = [frame(CHECK, service, "", "", "") for service in ("there", "nosuch", "../there")]
    result = helper("--confdir", str(directory), stdin=b"".join(requests))
    good, missing, odd = answers(result.stdout)
    assert good == (1, "") and odd == (3, "the service is no name of one")
    assert missing == (2, f"the PAM service nosuch has no file in {directory}")
    assert result.returncode == 0


@pytest.mark.parametrize(
    "what", [frame(CHECK, "a", "", "", "", version=2), frame(9, "a", "", "", ""), frame(CHECK, "a"), b"\0\0\0\0"]
)
def test_what_is_no_request_ends_it(what):
    result = helper(stdin=what)
    assert result.returncode == 77 and result.stdout == b""
    assert result.stderr == b"rest_fcgi_pam: a request is none of this version\n"


@pytest.mark.parametrize("what", [b"\xff\xff\xff\xff", frame(CHECK, "a", "", "", "")[:-1]])
def test_what_is_too_long_or_cut_off_ends_it_without_an_answer(what):
    result = helper(stdin=what)
    assert (result.returncode, result.stdout) == (0, b"")


def test_who_is_not_the_peer_gets_no_answer():
    result = helper("--peer", "nobody", stdin=frame(CHECK, "a", "", "", ""))
    assert result.returncode == 77 and result.stdout == b""
    assert b"refused: standard input is no socket with the user nobody or root at its other end" in result.stderr
