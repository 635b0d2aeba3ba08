# SPDX-License-Identifier: MIT

import hashlib
import json
import urllib.parse

import pytest

from support.api import CRED, JSON, chunk
from support.rest import api_of, serving

CANARY = "canary-7Qz4vT1xKp9sLw3m"
LOW = {"eauth": "file", "username": "bob", "password": CANARY}
ALL = [".*", "@runner", "@wheel", "@jobs"]


@pytest.fixture
def file(directory):
    """Returns external_auth with a password file. The user bob has the canary as his password."""
    words = {"bob": CANARY, CRED["username"]: CRED["password"]}
    users = directory / "canary-users"
    users.write_text("".join(f"{name}:{hashlib.sha256(word.encode()).hexdigest()}\n" for name, word in words.items()))
    return {"external_auth": {"file": {"^filename": str(users), "bob": ALL}}}


def misdeeds():
    """Yields requests with the canary as a password or token."""
    ping = {"client": "local", "tgt": "*", "fun": "test.ping"}
    yield [{**LOW, **ping}]
    yield [{**LOW, **ping, "username": "nobody"}]
    yield [{**LOW, **ping, "eauth": "sharedsecret"}]
    yield [{**LOW, **ping, "eauth": "nosuch"}]
    yield [{**ping, "token": CANARY}]
    yield [{**LOW, **ping, "client": "nosuch"}]
    yield [{**LOW, **ping, "fun": "nosuch.fun"}]
    yield [{**LOW, **ping, "fun": "test.arg", "kwarg": {"a": 1}}]
    yield [{**LOW, "client": "local_async", "tgt": "*", "fun": "test.arg"}]
    yield [{**LOW, "client": "runner", "fun": "jobs.list_jobs"}]
    yield [{**LOW, "client": "wheel", "fun": "key.list_all"}]
    yield [{**LOW, "client": "runner", "fun": "nosuch.fun", "full_return": True}]
    yield [{**LOW, "tgt": "*"}]
    yield [{**LOW, **ping, "password": [CANARY]}]
    yield [{**LOW, **ping, "password": {CANARY: CANARY}}]


def test_cve_2021_25284_no_reply_log_or_file_contains_the_password(start, front, file):
    daemon = start({**file, "log_level": "all", "sharedsecret": "shared-" + CANARY})
    nginx = front(daemon)
    for low in misdeeds():
        assert CANARY not in nginx.post(*low).text, low
    for broken in (json.dumps([LOW])[:-2], json.dumps([LOW]) + "x", '["' + CANARY):
        assert CANARY not in nginx.request(body=broken, headers=JSON).text
    (jobs,) = nginx.run(chunk("runner", "jobs.list_jobs"))
    assert jobs and CANARY not in str(jobs)
    for jid in jobs:
        assert CANARY not in str(nginx.run(chunk("runner", "jobs.list_job", jid=jid)))
    written = [path for path in daemon.directory.rglob("*") if path.is_file() and path.name != "master"]
    for path in [*written, *nginx.files()]:
        assert CANARY.encode() not in path.read_bytes(), path


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
YAML = {"Content-Type": "application/x-yaml"}
QUOTED = f"username: bob\neauth: file\npassword: {json.dumps(CANARY)}\n"
BLOCK = f"username: bob\neauth: file\npassword: |-\n  {CANARY}\n"


def logins():
    for low in (LOW, {**LOW, "username": "nobody"}, {**LOW, "eauth": "nosuch"}, {**LOW, "password": [CANARY]}):
        yield "POST", "/login", JSON, json.dumps(low)
        yield "POST", "/login", YAML, json.dumps(low)
        yield "POST", "/login", FORM, urllib.parse.urlencode(low)
    for body in (QUOTED, BLOCK, QUOTED + "x: [", "a: &a " + CANARY + "\npassword: *a\n", QUOTED + QUOTED):
        yield "POST", "/login", YAML, body
    yield "POST", "/login", JSON, json.dumps(LOW)[:-2]
    yield "POST", "/login", {**JSON, "Content-Encoding": "gzip"}, json.dumps(LOW)
    yield "POST", "/run", JSON, json.dumps([{**LOW, "client": "local", "tgt": "*", "fun": "test.ping"}])
    yield "POST", "/run", FORM, urllib.parse.urlencode({**LOW, "client": "local", "tgt": "*", "fun": "test.ping"})
    yield "POST", "/run", YAML, QUOTED + "client: local\ntgt: '*'\nfun: test.ping\n"
    yield "POST", "/token", JSON, json.dumps(LOW)
    for word in (CANARY, 40 * CANARY, 150 * CANARY):
        yield "GET", "/minions", {"X-Auth-Token": word}, ""
    for headers in ({"X-Auth-Token": CANARY}, {"Cookie": f"session_id={CANARY}"}, {"Authorization": f"Bearer {CANARY}"}):
        yield "GET", "/minions", headers, ""
        yield "POST", "/", {**JSON, **headers}, json.dumps([{"client": "local", "tgt": "*", "fun": "test.ping"}])
        yield "POST", "/logout", headers, ""


def test_no_reply_or_log_of_the_rest_interface_contains_a_password(start, front, file):
    changes = serving()
    daemon = start({**changes, **file, "log_level": "all"})
    for connection in (front(daemon).connection(), api_of(changes).connection()):
        for method, path, headers, body in logins():
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            assert CANARY.encode() not in reply.read(), (path, headers, body)
            assert CANARY not in str(reply.getheaders())
    assert CANARY not in daemon.log()
