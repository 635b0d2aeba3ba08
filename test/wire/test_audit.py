# SPDX-License-Identifier: MIT
"""One audit line a chunk: who ran what, where from, how it went. No arguments, no secrets."""

import json

import pytest

from support.api import chunk, local
from support.process import wait_until

ARGUMENT = "argument-that-is-nobodys-business"


@pytest.fixture
def audited(start, front):
    daemon = start({"rest_fcgi": {"audit_format": "json"}, "log_level": "quiet"})
    nginx = front(daemon)

    def lines(count):
        def found():
            return [json.loads(line) for line in daemon.log().splitlines() if line.startswith("{") and line.endswith("}")]

        wait_until(lambda: len(found()) >= count, f"{count} audit lines are there")
        return found()

    nginx.audit = lines
    return nginx


def test_salt_issue_38466_each_chunk_has_one_line(audited):
    audited.run(local("test.echo", tgt="ms-0", arg=[ARGUMENT]), chunk("runner", "manage.up"))
    echo, up = audited.audit(2)
    assert (echo["user"], echo["eauth"], echo["client"], echo["fun"]) == ("saltdev", "file", "local", "test.echo")
    assert echo["tgt"] == "ms-0" and echo["remote_addr"] == "127.0.0.1" and len(echo["jid"]) == 20
    assert (up["client"], up["fun"]) == ("runner", "manage.up")
    assert ARGUMENT not in str([echo, up]) and "password" not in str([echo, up])


def test_a_refused_chunk_has_a_line_too(audited):
    audited.post({**local("test.ping"), "username": "nobody"})
    (line,) = audited.audit(1)
    assert line["user"] == "nobody" and line["outcome"] not in ("ok", "success")
