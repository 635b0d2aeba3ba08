# SPDX-License-Identifier: MIT

import secrets

import pytest
from rows import CALLS, call, local
from support import salts
from support.process import wait_until
from support.salt_master import SECRET
from test_salt_sessions import REST, send

pytestmark = pytest.mark.parametrize("salt", [salts.SERIES[0], salts.SERIES[-1]], indirect=True)


def holds(path, word):
    try:
        return word.encode() in path.read_bytes()
    except FileNotFoundError:  # Salt may rename the file
        return False


def files_with(word, folder):
    return [path for path in folder.rglob("*") if path.is_file() and holds(path, word)]


def test_no_password_is_on_the_bus_or_in_files_of_the_master(salt, engine, bus):
    right, wrong = f"right-{secrets.token_hex(8)}", f"wrong-{secrets.token_hex(8)}"
    login = salt.canary(right)
    for client, rest in CALLS.items():
        assert engine.post({**login, "client": client, **rest}).status == 200
        refused = {"eauth": "sharedsecret", "username": "admin", "password": wrong}
        assert engine.post({**refused, "client": client, **rest}, address="198.51.100.78").status in (401, 429)
        beyond = {**login, "username": "nobody"}
        engine.post({**beyond, "client": client, **rest}, address="198.51.100.79")
    (job,) = engine.run(local("test.echo", "ms-0", cred=login, client="local_async", arg=["the last"]))
    wait_until(lambda: f"{job['jid']}/ret" in bus(), "the last return is on the bus")
    for word in (right, wrong):
        assert word not in bus()
        assert files_with(word, salt.home / "master") == []


def test_a_refused_call_shows_no_token_on_the_bus(salt, start_engine, bus):
    engine = start_engine(REST)
    limited = {"eauth": "sharedsecret", "username": "limited", "password": SECRET}
    token = send(engine, "/login", limited)[1]["return"][0]["token"]
    refused = [("test.ping", "*"), ("test.ping", "ms-*"), ("cmd.run", "ms-0"), ("test.ping", "G@role:web")]
    for fun, tgt in refused:
        chunk = local(fun, tgt, cred={}, tgt_type="compound" if "@" in tgt else "glob")
        assert send(engine, "/", [chunk], token)[0] == 401
    assert send(engine, "/", [local("test.ping", "ms-0", cred={})], token) == (200, {"return": [{"ms-0": True}]})
    (job,) = send(engine, "/run", [local("test.echo", "ms-0", client="local_async", arg=["last"])])[1]["return"]
    wait_until(lambda: f"{job['jid']}/ret" in bus(), "the last return is on the bus")
    assert token not in bus()


def test_inline_login_sends_the_password_with_the_job(salt, start_engine):
    word = f"right-{secrets.token_hex(8)}"
    engine = start_engine({"rest_fcgi": {"inline_login": True}})
    engine.run(local("test.ping", "ms-0", cred=salt.canary(word)))
    assert files_with(word, salt.home / "master/cache/jobs") != []


def test_no_password_is_in_the_log_of_the_responder(salt, start_engine):
    word = f"right-{secrets.token_hex(8)}"
    engine = start_engine({"log_level": "debug"})
    engine.post(
        local("test.ping", "ms-0", cred=salt.canary(word)), call("runner", "test.arg", {**salt.canary(word), "username": "nobody"})
    )
    assert word not in engine.log()
