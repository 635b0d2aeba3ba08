# SPDX-License-Identifier: MIT

import hashlib
import shutil
import time

import pytest

from support import daemon as daemons
from support.nginx import Nginx
from support.process import short_directory, wait_until

REFUSED = '{"return": "Authorization error occurred."}'
MISSING = '{"return": "No authentication credentials given"}'

CALLS = {
    "local": {"fun": "test.ping", "tgt": "*"},
    "local_async": {"fun": "test.ping", "tgt": "*"},
    "local_batch": {"fun": "test.ping", "tgt": "*", "batch": "1"},
    "local_subset": {"fun": "test.ping", "tgt": "*", "subset": 1},
    "runner": {"fun": "manage.up"},
    "runner_async": {"fun": "manage.up"},
    "wheel": {"fun": "key.list_all"},
    "wheel_async": {"fun": "key.list_all"},
}

BAD_CREDENTIALS = {
    "unknown user": {"eauth": "file", "username": "nobody", "password": "secret"},
    "wrong password": {"eauth": "file", "username": "alice", "password": "wrong"},
    "unknown eauth": {"eauth": "nosuch", "username": "alice", "password": "secret"},
    "zero byte": {"eauth": "file", "username": "alice", "password": "secret\0"},
    "wrong shared secret": {"eauth": "sharedsecret", "username": "bob", "password": "shared!"},
    "right user, function not allowed": {"eauth": "file", "username": "eve", "password": "evil"},
    "unknown token": {"token": "0" * 64},
    "token that is a path": {"token": "../../../etc/passwd"},
}


@pytest.fixture(scope="module")
def auth(tmp_path_factory):
    home = tmp_path_factory.mktemp("auth")
    digests = {name: hashlib.sha256(word.encode()).hexdigest() for name, word in [("alice", "secret"), ("eve", "evil")]}
    passwords = home / "passwords"
    passwords.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
    passwords.chmod(0o600)
    everything = [".*", "@runner", "@wheel", "@jobs"]
    return {
        "sharedsecret": "shared",
        "external_auth": {
            "file": {
                "^filename": str(passwords),
                "^hashtype": "sha256",
                "alice": everything,
                "eve": [{"ms-0": ["test.echo"]}, {"@runner": ["jobs.list_jobs"]}],
            },
            "sharedsecret": {"bob": everything},
        },
    }


@pytest.fixture(scope="module")
def shared(auth):
    """A running rest_fcgi that does not delay failed logins, and its Api behind nginx."""
    home = short_directory()
    daemon = daemons.Daemon(home, daemons.merge(auth, {"rest_fcgi": {"login_guard": {"tries": 0}}}))
    nginx = Nginx(home / "nginx", [daemon.address])
    yield daemon, nginx
    nginx.stop()
    assert daemon.stop() == 0, daemon.log()
    shutil.rmtree(home)


@pytest.fixture
def served(shared):
    return shared[0]


@pytest.fixture
def api(shared):
    return shared[1]


def call(client, credentials, **changes):
    return {**credentials, "client": client, **CALLS[client], **changes}


ALICE = {"eauth": "file", "username": "alice", "password": "secret"}
EVE = {"eauth": "file", "username": "eve", "password": "evil"}


def test_cve_2017_5192_cve_2018_15751_cve_2021_25281_every_client_refuses_missing_credentials(api):
    for client in CALLS:
        for incomplete in ({}, {"username": "alice", "password": "secret"}):
            reply = api.post(call(client, incomplete))
            assert (reply.status, reply.text) == (401, MISSING), client


def test_cve_2020_25592_salt_issue_48703_every_client_refuses_bad_credentials_with_one_text(api):
    for client in CALLS:
        for name, credentials in BAD_CREDENTIALS.items():
            reply = api.post(call(client, credentials))
            assert (reply.status, reply.text) == (401, REFUSED), (client, name)


def test_every_client_accepts_good_credentials(api):
    bob = {"eauth": "sharedsecret", "username": "bob", "password": "shared"}
    for client in CALLS:
        assert api.post(call(client, ALICE), call(client, bob)).status == 200, client


def test_cve_2022_22941_a_user_reaches_only_the_minions_and_functions_of_their_rules(api):
    echo = {"fun": "test.echo", "arg": ["hi"]}
    assert api.run(call("local", EVE, tgt="ms-0", **echo)) == [{"ms-0": "hi"}]
    for tgt in ("*", "ms-1", "nosuch"):
        assert api.post(call("local", EVE, tgt=tgt, **echo)).status == 401, tgt
    assert api.post(call("local", EVE, tgt="ms-0", fun="test.ping")).status == 401
    assert api.post(call("runner", EVE, fun="jobs.list_jobs")).status == 200
    assert api.post(call("runner", EVE, fun="jobs.active")).status == 401


def test_cve_2013_4435_a_list_of_functions_needs_permission_for_each_function(api):
    for funs in (["test.echo", "test.ping"], ["test.ping", "test.echo"], ["test.echo", "saltutil.find_job"]):
        reply = api.post(call("local", EVE, tgt="ms-0", fun=funs, arg=[["a"], []]))
        assert (reply.status, reply.text) == (401, REFUSED), funs


def make_token(daemon, password="secret"):
    return daemons.run("--config", daemon.config_path, "--mk-token", "file:alice", stdin=password + "\n")


def test_a_token_replaces_the_password(served, api):
    token = make_token(served).stdout.strip()
    assert api.run({"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}) == [{"ms-0": True}]
    assert api.post({"token": token, "client": "wheel", "fun": "key.list_all"}).status == 200
    refused = make_token(served, "wrong")
    assert refused.returncode == 77 and refused.stdout == ""
    assert "file:alice" in refused.stderr and "wrong user or password" in refused.stderr


def test_cve_2021_3144_a_token_expires(start, front, auth):
    daemon = start({**auth, "token_expire": 4})
    api = front(daemon)
    begun = time.monotonic()
    token = make_token(daemon).stdout.strip()
    low = {"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    assert api.post(low).status == 200
    wait_until(lambda: api.post(low).status == 401, "the token has expired")
    assert time.monotonic() - begun >= 3, "token_expire counts whole seconds"


def test_revoke_ends_the_tokens_of_one_user_and_no_other_token(served, api):
    def revoke(user):
        return daemons.run("--config", served.config_path, "--revoke", user).stdout

    revoke("alice")
    alices = make_token(served).stdout.strip()
    eves = daemons.run("--config", served.config_path, "--mk-token", "file:eve", stdin="evil\n").stdout.strip()
    assert revoke("pam:alice").startswith("0 valid tokens of alice ")
    assert revoke("file:alice").startswith("1 valid tokens of alice ")
    assert api.post(call("local", {"token": alices})).status == 401
    assert api.post(call("local", {"token": eves}, tgt="ms-0", fun="test.echo", arg=["hi"])).status == 200
    assert api.post(call("local", ALICE)).status == 200
