# SPDX-License-Identifier: MIT
"""Parallel logins whose password hashes need much memory, and the cache of logins."""

import json
import threading
import time

import pytest
from support import fastcgi
from support.api import local
from support.daemon import SANITIZED
from support.passwords import hashed
from support.process import join, sent, unanswered

USERS = [f"user{number}" for number in range(200)]
def settings(path, users, **ours):
    file = {"^filename": str(path), "^hashtype": "crypt", **{user: [".*"] for user in users}}
    return {"external_auth": {"file": file}, "rest_fcgi": ours}


def address_of(number):
    """Returns the client address of a login. A third of the logins come from one address, a third from 20 addresses."""
    return ("192.0.2.1", f"192.0.2.{number % 20}", f"10.0.{number // 200}.{number % 200}")[number % 3]


def login(user, password, address="192.0.2.7"):
    chunk = {**local("test.ping", tgt="ms-0"), "eauth": "file", "username": user, "password": password}
    return fastcgi.request(json.dumps([chunk]).encode(), REMOTE_ADDR=address)


class Guesser:
    """Sends wrong passwords from one client address until the block ends."""

    def __init__(self, daemon):
        self.statuses = []
        self._daemon = daemon
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._guess)

    def _guess(self):
        while not self._over.is_set() or not self.statuses:
            wrong = login(USERS[0], f"wrong{len(self.statuses)}", "203.0.113.9")
            connection = sent(self._daemon.address, wrong)
            connection.settimeout(600)
            self.statuses.append(fastcgi.receive(connection).status)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._over.set()
        join([self._thread], 600)


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer uses more memory")
def test_salt_issue_20285_two_thousand_parallel_logins_succeed_with_bounded_memory(start, directory):
    """One hash per user is enough. All 200 hashes at the same time would use 3.2 GB."""
    users = directory / "users"
    stored = hashed("sesame")
    users.write_text("".join(f"{user}:{stored}\n" for user in USERS))
    users.chmod(0o600)
    guard = {"address_tries": 8}
    daemon = start(settings(users, USERS, login_guard=guard, max_threads=3000, request_timeout=600))
    with Guesser(daemon) as guesser:
        connections = []
        for number in range(2000):
            connections.append(sent(daemon.address, login(USERS[number % 200], "sesame", address_of(number))))
            connections[-1].settimeout(600)
        assert [fastcgi.receive(connection).status for connection in connections] == [200] * 2000
    assert set(guesser.statuses) <= {401, 429}
    assert int(daemon.status("VmHWM")) < (100 + 128 + 64) * 1024, "KiB for 2,000 threads, 128 MiB of hashes and other data"


def test_cve_2023_20897_failed_logins_do_not_delay_a_good_login(start, directory):
    """The guard delays failed logins only. A good login does not wait."""
    users = directory / "users"
    names = [*USERS[:20], "alice"]
    stored = hashed("sesame", b"$5$saltsaltsalt")
    users.write_text("".join(f"{name}:{stored}\n" for name in names))
    users.chmod(0o600)
    daemon = start(settings(users, names, login_guard={"tries": 7, "address_tries": 1000}))

    def guess():
        return [sent(daemon.address, login(names[number], f"wrong {number}", f"192.0.2.{number % 4}")) for number in range(20)]

    for _ in range(3):  # the delays are 0.1, 0.2 and 0.4 seconds
        assert [fastcgi.receive(connection).status for connection in guess()] == [401] * 20
    begun = time.monotonic()
    guessing = guess()  # the next delay is 0.8 seconds
    assert fastcgi.talk(daemon.address, login("alice", "sesame", "198.51.100.1")).status == 200
    assert unanswered(guessing) or time.monotonic() - begun > 0.8, "some failed logins still wait"
    assert [fastcgi.receive(connection).status for connection in guessing] == [401] * 20
