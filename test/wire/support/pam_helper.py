# SPDX-License-Identifier: MIT

import subprocess

from . import daemon as daemons

HELPER = daemons.BINARY.parent / "rest_fcgi_pam"
GOOD, REFUSED, FAILED = "g", "r", "f"


def helper(*args, stdin=b""):
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run([HELPER, *args], **given, capture_output=True, timeout=30, env={})


def request(service, user="", password="", remote=""):
    """Returns the bytes of a request. Without a user, the helper only checks the service."""
    return f"{service}\n{user}\n{remote}\n{password}".encode()


def ask(directory, service, *login):
    """Returns the outcome and the text of the helper's answer. The services are files in `directory`, or those of this host if
    `directory` is None."""
    confdir = ["--confdir", str(directory)] if directory else []
    result = helper(*confdir, stdin=request(service, *login))
    assert result.returncode == 0, result.stderr
    return result.stdout[:1].decode(), result.stdout[1:].decode()
