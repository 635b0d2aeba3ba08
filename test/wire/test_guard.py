# SPDX-License-Identifier: MIT

import json

from support import fastcgi

ALICE = {"eauth": "sharedsecret", "username": "alice", "password": "shared"}
CHUNK = {"client": "local", "tgt": "ms-0", "fun": "test.ping"}


def status_of(daemon, password="shared"):
    body = json.dumps([{**CHUNK, **ALICE, "password": password}]).encode()
    return fastcgi.talk(daemon.address, fastcgi.request(body, REMOTE_ADDR="192.0.2.7")).status


def test_processes_share_the_count_of_failed_logins_and_it_survives_a_kill(start, directory):
    settings = {
        "sharedsecret": "shared",
        "external_auth": {"sharedsecret": {"alice": [".*"]}},
        "cachedir": str(directory / "cache"),
        "rest_fcgi": {"login_guard": {"tries": 3, "window": 600, "refuse": 600}},
    }
    first, second = start(settings), start(settings)
    assert [status_of(daemon, "wrong") for daemon in (first, first, second)] == [401, 401, 401]
    assert status_of(first) == status_of(second) == 429
    first.kill(9)
    first.wait()
    assert status_of(start(settings)) == 429
