# SPDX-License-Identifier: MIT

import struct
import subprocess

from . import daemon as daemons

HELPER = daemons.BINARY.parent / "rest_fcgi_pam"
VERIFY, CHECK = 1, 2
GOOD, REFUSED, FAILED, BUSY = 1, 2, 3, 5


def helper(*args, stdin=b"", **environment):
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run([HELPER, *args], **given, capture_output=True, timeout=30, env=environment)


def frame(ask, *texts, version=1):
    body = struct.pack(">BB", version, ask) + b"".join(struct.pack(">H", len(t)) + t.encode() for t in texts)
    return struct.pack(">I", len(body)) + body


def answers(output):
    """Returns the outcomes and texts in the output of the PAM helper."""
    found = []
    while output:
        (size,) = struct.unpack(">I", output[:4])
        version, outcome, length = struct.unpack(">BBH", output[4:8])
        assert version == 1
        found.append((outcome, output[8 : 8 + length].decode()))
        output = output[4 + size :]
    return found


def ask(directory, stacks, what, services):
    """Asks the helper about services with an unknown user.
    The services are files in `directory`, or those of this host if `directory` is None."""
    for service, text in stacks.items():
        (directory / service).write_text(text)
    requests = [frame(what, service, "rfcgi_nobody", "no password of theirs", "") for service in services]
    confdir = ["--confdir", str(directory)] if directory else []
    result = helper(*confdir, "--rate", "10000", stdin=b"".join(requests))
    assert result.returncode == 0, result.stderr
    return dict(zip(services, answers(result.stdout), strict=True))
