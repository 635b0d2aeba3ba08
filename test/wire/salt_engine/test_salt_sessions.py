# SPDX-License-Identifier: MIT
"""Sessions are tokens of the real master, and hooks are events on the master's bus."""

import json
import os
import signal
import subprocess

import pytest
from support import daemon as daemons
from support import fastcgi, salts
from support.api import CRED
from support.disk import Disk, private_mounts
from support.process import TIMEOUT, wait_until

EVERY_SERIES = pytest.mark.parametrize("salt", ["3006", "3007", "3008"], indirect=True)
FIRST_SERIES = pytest.mark.parametrize("salt", ["3006"], indirect=True)

# The responders serve FastCGI only, because responders with one configuration cannot share a port.
REST = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": None, "rest_tornado": None}
PING = {"client": "local", "tgt": "ms-0", "fun": "test.ping"}


def send(engine, path, body=None, token=None, method="POST"):
    """Sends a request to rest_cherrypy. Returns the status and the JSON value."""
    text = b"" if body is None else json.dumps(body).encode()
    data = fastcgi.request(text, REQUEST_METHOD=method, PATH_INFO=path, REQUEST_URI=path, HTTP_X_AUTH_TOKEN=token)
    answer = fastcgi.talk(engine.address, data, 60)
    assert answer.ended, engine.log()[-2000:]
    return answer.status, json.loads(answer.body)


def login(engine):
    status, reply = send(engine, "/login", CRED)
    assert status == 200, reply
    (session,) = reply["return"]
    return session


def token_file(salt, token):
    (found,) = [path for path in (salt.home / "master/cache/tokens").iterdir() if path.name in (token, token + ".p")]
    return found


def refused_by_salt(salt, token):
    return "error" in salt.netapi({**PING, "token": token})


@EVERY_SERIES
def test_a_session_is_a_token_of_the_master(salt, start_engine):
    engine = start_engine(REST)
    session = login(engine)
    assert set(session) == {"token", "start", "expire", "user", "eauth", "perms"}
    assert (session["user"], session["eauth"]) == ("saltdev", "file")
    assert session["perms"] == [".*", "@jobs", "@runner", "@wheel"]
    assert session["expire"] - session["start"] == pytest.approx(43200, abs=1)
    assert send(engine, "/", [PING], session["token"]) == (200, {"return": [{"ms-0": True}]})
    assert salt.netapi({**PING, "token": session["token"]}) == {"return": {"ms-0": True}}
    assert login(engine)["token"] != session["token"]


@EVERY_SERIES
def test_a_logout_removes_the_token_from_the_master(salt, start_engine):
    engine, other = start_engine(REST), start_engine(REST)
    token = login(engine)["token"]
    assert send(other, "/", [PING], token)[0] == 200
    assert token_file(salt, token).exists()
    assert send(engine, "/logout", token=token) == (200, {"return": "Your token has been cleared"})
    assert send(engine, "/", [PING], token)[0] == 401
    wait_until(lambda: send(other, "/", [PING], token)[0] == 401, "the other process knows", 1.5)
    for one in (engine, other):
        assert send(one, "/run", [{**PING, "token": token}])[0] == 401
    assert send(engine, "/logout", token=token)[0] == 401
    assert refused_by_salt(salt, token)


@FIRST_SERIES
def test_logouts_and_revocations_survive_power_cuts(salt, start_engine, tmp_path, monkeypatch):
    with private_mounts():
        disk = Disk(tmp_path / "disk")
        monkeypatch.setenv("STATE_DIRECTORY", str(disk.path / "own"))
        engine = start_engine(REST)
        first, second = (login(engine)["token"] for _ in range(2))
        path = token_file(salt, first)
        kept = path.read_bytes()

        def log_out():
            assert send(engine, "/logout", token=first)[0] == 200
            path.write_bytes(kept)

        def revoke():
            assert daemons.run("--config", engine.config_path, "--revoke", "saltdev").returncode == 0

        for end, statuses in ((log_out, [401, 200]), (revoke, [401, 401])):
            end()
            disk.cut()
            engine.kill(signal.SIGKILL)
            engine.wait()
            disk.power_up()
            engine = start_engine(REST)
            assert [send(engine, "/", [PING], token)[0] for token in (first, second)] == statuses, end.__name__
        assert engine.stop() == 0
        disk.close()
    path.unlink()


@EVERY_SERIES
def test_a_hook_is_an_event_on_the_bus_of_the_master(salt, start_engine):
    engine = start_engine(REST)
    session = login(engine)
    argv = [salt.folder / "bin/python", "-W", "ignore", salts.EVENTS, salt.master.config_path]
    output = salt.home / f"heard-{os.getpid()}"
    with open(output, "w") as heard:
        listener = subprocess.Popen(argv, stdout=heard)
    try:
        wait_until(lambda: output.read_text().startswith("reading"), "it listens", 4 * TIMEOUT)
        body = {"n": 1, "text": "\u00e4 \U0001f600", "list": [None, 1.5, {}]}
        assert send(engine, "/hook/some/tag", body, session["token"]) == (200, {"success": True})
        wait_until(lambda: '"tag": "salt/netapi/hook/some/tag"' in output.read_text(), "it hears")
    finally:
        listener.kill()
        listener.wait(TIMEOUT)
    (event,) = [json.loads(line) for line in output.read_text().splitlines() if "hook/some/tag" in line]
    assert event["data"]["post"] == body
    assert json.loads(event["data"]["body"]) == body
    assert "_stamp" in event["data"]
    assert session["token"] not in json.dumps(event)
