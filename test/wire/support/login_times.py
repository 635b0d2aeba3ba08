# SPDX-License-Identifier: MIT
"""Compares the response times of two kinds of refused logins, such as a wrong user and a wrong password.

The tries of both kinds are mixed. Each try comes from a new address."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import random
import secrets
import subprocess
import time

from . import daemon as daemons
from . import fastcgi
from .passwords import YESCRYPT, hashed

SIDE_BY_SIDE = 4
SETTINGS = [YESCRYPT, b"$6$saltsaltsalt", b"$2y$10$abcdefghijklmnopqrstuu", b"$5$saltsaltsalt"]
SHA1 = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="  # the password is `password`


def mixed_file(path):
    """Writes a password file with one user per kind of hash. Returns the users."""
    hashes = [hashed("password", setting) for setting in SETTINGS] + [SHA1]
    path.write_text("".join(f"user{number}:{one}\n" for number, one in enumerate(hashes)))
    path.chmod(0o600)
    return [f"user{number}" for number in range(len(hashes))]


def password_tries(eauth, known):
    """Returns tries of unknown users, and wrong passwords of known users. All passwords differ."""

    def low(user, number):
        return {"eauth": eauth, "username": user, "password": f"wrong{number}"}

    return (low(f"nobody{n}", n) for n in itertools.count()), (low(user, n) for n, user in enumerate(itertools.cycle(known)))


def token_tries(ended):
    """Returns tries of unknown tokens, and tries of a revoked token."""
    return ({"token": f"{n:064x}"} for n in itertools.count(1)), ({"token": ended} for _ in itertools.count())


# Each context manager below yields the settings of a daemon and a function.
# The function takes the daemon and returns two iterators over wrong credentials.


@contextlib.contextmanager
def file_eauth(directory):
    users = mixed_file(directory / "passwords")
    file = {"^filename": str(directory / "passwords"), "^hashtype": "crypt", **{user: [".*"] for user in users}}
    yield {"external_auth": {"file": file}}, lambda daemon: password_tries("file", users)


@contextlib.contextmanager
def sharedsecret(directory):
    settings = {"sharedsecret": "shared", "external_auth": {"sharedsecret": {"bob": [".*"]}}}
    yield settings, lambda daemon: password_tries("sharedsecret", ["bob"])


@contextlib.contextmanager
def tokens(directory):
    def sorts(daemon):
        made = daemons.run("--config", daemon.config_path, "--mk-token", "file:saltdev", stdin="x\n")
        assert made.returncode == 0, made.stderr
        assert daemons.run("--config", daemon.config_path, "--revoke", "saltdev").returncode == 0
        return token_tries(made.stdout.strip())

    yield {}, sorts


@contextlib.contextmanager
def system_users(directory):
    """Creates a user and a PAM service for the block. REQUIRES: root."""
    name = f"rfcgi{secrets.token_hex(3)}"
    service = pathlib.Path("/etc/pam.d") / f"rest_fcgi-times-{os.getpid()}"
    helper = directory / "helper"
    helper.write_text(f"#!/bin/sh\nexec {daemons.BINARY.parent / 'rest_fcgi_pam'} --rate 10000\n")
    helper.chmod(0o700)

    def do(*argv, **options):
        subprocess.run(argv, check=True, capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **options)

    with contextlib.ExitStack() as cleanup:
        service.write_text("auth required pam_unix.so\naccount required pam_unix.so\n")
        cleanup.callback(service.unlink)
        do("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", name)
        cleanup.callback(do, "userdel", name)
        do("chpasswd", input=f"{name}:{secrets.token_hex(8)}\n")
        pam = {"auth.pam.service": service.name, "external_auth": {"pam": {name: [".*"]}}, "rest_fcgi": {"pam_helper": str(helper)}}
        yield pam, lambda daemon: password_tries("pam", [name])


BACK_ENDS = {"file": file_eauth, "sharedsecret": sharedsecret, "token": tokens, "pam": system_users}


def measure(address, sorts, tries):
    """Returns the times of both kinds of tries in milliseconds. Fails if a try is not refused."""
    _measure(address, sorts, 8, 1 << 20)
    return _measure(address, sorts, tries, 0)


def _measure(address, sorts, tries, start):

    def one(turn):
        number, _, credentials = turn
        remote = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        chunk = {"client": "local", "tgt": "ms-0", "fun": "test.ping", **credentials}
        data = fastcgi.request(json.dumps([chunk]).encode(), REMOTE_ADDR=remote)
        since = time.perf_counter()
        answer = fastcgi.talk(address, data, 120)
        took = (time.perf_counter() - since) * 1000
        assert answer.status == 401, (answer.status, answer.body)
        return took, answer.body

    order = [sort for sort in range(len(sorts)) for _ in range(tries)]
    random.Random(tries).shuffle(order)
    turns = [(start + number, sort, next(sorts[sort])) for number, sort in enumerate(order)]
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        answers = list(pool.map(one, turns))
    assert len({body for _, body in answers}) == 1
    return [[took for (took, _), at in zip(answers, order) if at == sort] for sort in range(len(sorts))]


def distance(first, second):
    """Returns the Kolmogorov-Smirnov distance of two samples."""
    one, other = sorted(first), sorted(second)
    far, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        at = min(one[i], other[j])
        while i < len(one) and one[i] <= at:
            i += 1
        while j < len(other) and other[j] <= at:
            j += 1
        far = max(far, abs(i / len(one) - j / len(other)))
    return far


def bound(tries, factor):
    """Returns the Kolmogorov-Smirnov bound for two samples of one distribution.
    The factor 1.36 holds in 95 of 100 cases, and the factor 1.9 in 998 of 1,000."""
    return factor * (2 / tries) ** 0.5
