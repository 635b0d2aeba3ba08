# SPDX-License-Identifier: MIT

import json
import time

from support import fastcgi

GUARD = {"tries": 3, "address_tries": 8, "window": 600, "refuse": 600}
ALICE = {"eauth": "sharedsecret", "username": "alice", "password": "shared"}
CHUNK = {"client": "local", "tgt": "ms-0", "fun": "test.ping"}


def settings(**guard):
    return {
        "sharedsecret": "shared",
        "external_auth": {"sharedsecret": {"alice": [".*"], "bob": [".*"]}},
        "rest_fcgi": {"login_guard": {**GUARD, **guard}},
    }


def of_one_host(directory):
    """Returns settings with one `cachedir` for all responders."""
    return {**settings(), "cachedir": str(directory / "cache")}


def ask(daemon, remote="192.0.2.7", **credentials):
    """Returns the status of a call from the address `remote`, and the header Retry-After."""
    body = json.dumps([{**CHUNK, **(credentials if "token" in credentials else {**ALICE, **credentials})}]).encode()
    answer = fastcgi.talk(daemon.address, fastcgi.request(body, REMOTE_ADDR=remote))
    head, _, text = answer.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    assert list(json.loads(text)) == ["return"]
    return int(headers.get("Status", "200").split()[0]), headers.get("Retry-After")


def statuses(daemon, count, **credentials):
    return [ask(daemon, **credentials)[0] for _ in range(count)]


def test_guesses_are_delayed_and_then_refused_for_known_and_unknown_users(start):
    daemon = start(settings())
    for user in ("alice", "nobody"):
        begin = time.monotonic()
        assert statuses(daemon, 3, username=user, password="wrong") == [401, 401, 401]
        assert time.monotonic() - begin > 0.6  # the delays are 0.1, 0.2 and 0.4 seconds
        status, retry_after = ask(daemon, username=user, password="wrong")
        assert status == 429 and 0 < int(retry_after) <= 600
        assert ask(daemon, username=user)[0] == 429
        daemon.await_log(f'login guard: user "{user}" at "192.0.2.7": refused for 600 seconds')


def test_processes_share_the_count_of_failed_logins_and_it_survives_a_kill(start, directory):
    first, second = (start(of_one_host(directory)) for _ in range(2))
    assert statuses(first, 2, password="wrong") == [401, 401]
    assert ask(second, password="wrong")[0] == 401
    assert ask(first)[0] == ask(second)[0] == 429
    first.kill(9)
    first.wait()
    third = start(of_one_host(directory))
    assert ask(third)[0] == 429


def test_a_reload_keeps_the_count_of_failed_logins(start):
    daemon = start(settings())
    statuses(daemon, 2, password="wrong")
    statuses(daemon, 3, username="bob", password="wrong")
    daemon.kill(1)
    daemon.await_log("configuration reread")
    assert ask(daemon, username="bob")[0] == 429, "bob is still refused"
    assert ask(daemon, password="wrong")[0] == 401
    assert ask(daemon)[0] == 429, "the third failure was the third"
