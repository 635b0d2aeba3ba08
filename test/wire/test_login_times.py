# SPDX-License-Identifier: MIT
"""Logins with a wrong user and with a wrong password take equally long. The tries of both kinds are mixed."""

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

import pytest
from support import daemon as daemons
from support import fastcgi
from support.passwords import YESCRYPT, hashed

TRIES = 2000 if daemons.LONG else 100
# The bound of a Kolmogorov-Smirnov test with two samples of TRIES times. If both samples have the same distribution, their
# distance is below the bound in 998 of 1,000 cases.
BOUND = 1.9 * (2 / TRIES) ** 0.5
SIDE_BY_SIDE = 4
SETTINGS = [YESCRYPT, b"$6$saltsaltsalt", b"$2y$10$abcdefghijklmnopqrstuu", b"$5$saltsaltsalt"]
SHA1 = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="  # the password is `password`

pytestmark = pytest.mark.skipif(bool(daemons.SANITIZED), reason="a sanitizer changes the times")


@pytest.fixture
def file_users(directory):
    """Writes a password file with one user per kind of hash. Returns the settings and the users."""
    users = {f"user{number}": hashed("password", setting) for number, setting in enumerate(SETTINGS)}
    users["sha1"] = SHA1
    path = directory / "passwords"
    path.write_text("".join(f"{user}:{stored}\n" for user, stored in users.items()))
    path.chmod(0o600)
    rules = {user: [".*"] for user in users}
    return {"external_auth": {"file": {"^filename": str(path), "^hashtype": "crypt", **rules}}}, list(users)


@pytest.fixture
def pam_users():
    """Creates a user and a PAM service. Yields the settings and the user."""
    if os.geteuid() != 0:
        pytest.skip("only root can make users and PAM services for a test")
    name = f"rfcgi{secrets.token_hex(3)}"
    helper = daemons.BINARY.parent / "rest_fcgi_pam"
    service = pathlib.Path("/etc/pam.d") / f"rest_fcgi-times-{os.getpid()}"

    def do(*argv, **options):
        subprocess.run(argv, check=True, capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **options)

    with contextlib.ExitStack() as cleanup:
        service.write_text("auth required pam_unix.so\naccount required pam_unix.so\n")
        cleanup.callback(service.unlink)
        do("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", name)
        cleanup.callback(do, "userdel", name)
        do("chpasswd", input=f"{name}:{secrets.token_hex(8)}\n")
        yield {"auth.pam.service": service.name, "external_auth": {"pam": {name: [".*"]}}, "rest_fcgi": {"pam_helper": str(helper)}}, [name]


def measure(address, eauth, known, tries):
    """Returns the times of logins of unknown users, and of known users, in milliseconds. All passwords are wrong."""
    numbers = itertools.count(random.randrange(1 << 20))

    def one(user):
        number = next(numbers)
        low = {"client": "local", "tgt": "ms-0", "fun": "test.ping", "eauth": eauth, "username": user, "password": f"wrong{number}"}
        remote = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        data = fastcgi.request(json.dumps([low]).encode(), REMOTE_ADDR=remote)
        since = time.perf_counter()
        answer = fastcgi.talk(address, data, 120)
        took = (time.perf_counter() - since) * 1000
        assert answer.status == 401, (answer.status, answer.body)
        return took, answer.body

    users = [*(f"nobody{number}" for number in range(tries)), *itertools.islice(itertools.cycle(known), tries)]
    random.shuffle(users)
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        answers = list(pool.map(one, users))
    assert len({body for _, body in answers}) == 1
    return [[took for (took, _), user in zip(answers, users) if (user in known) == is_known] for is_known in (False, True)]


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


@pytest.mark.parametrize("eauth", ["file", "pam"])
def test_the_time_of_a_refusal_does_not_reveal_whether_the_user_exists(start, request, eauth):
    settings, known = request.getfixturevalue(f"{eauth}_users")
    daemon = start(settings)
    measure(daemon.address, eauth, known, 8)
    # Even if the times do not depend on the user, 2 of 1,000 measurements exceed the bound by chance. A second measurement then
    # decides.
    apart = [distance(*measure(daemon.address, eauth, known, TRIES))]
    if apart[0] >= BOUND:
        apart.append(distance(*measure(daemon.address, eauth, known, TRIES)))
    assert min(apart) < BOUND, apart
