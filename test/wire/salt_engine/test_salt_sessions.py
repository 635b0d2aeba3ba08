# SPDX-License-Identifier: MIT
"""Sessions are tokens of the real master, and hooks are events on the master's bus."""

import json

import pytest
from support import fastcgi, salts
from support.api import CRED
from support.process import wait_until

EVERY_SERIES = pytest.mark.parametrize("salt", salts.SERIES, indirect=True)

# Several rest_fcgi processes with the same configuration cannot listen on the same HTTP port, so they serve only FastCGI.
REST = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": None, "rest_tornado": None}
PING = {"client": "local", "tgt": "ms-0", "fun": "test.ping"}


def send(engine, path, body=None, token=None):
    """Sends a request to an interface of REST. Returns the status and the JSON value."""
    text = b"" if body is None else json.dumps(body).encode()
    data = fastcgi.request(text, SCRIPT_NAME="", PATH_INFO=path, REQUEST_URI=path, HTTP_X_AUTH_TOKEN=token)
    answer = fastcgi.talk(engine.address, data, 120)
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


@EVERY_SERIES
def test_a_hook_is_an_event_on_the_bus_of_the_master(salt, start_engine, bus):
    engine = start_engine(REST)
    token = login(engine)["token"]
    body = {"n": 1, "text": "\u00e4 \U0001f600", "list": [None, 1.5, {}]}
    assert send(engine, "/hook/some/tag", body, token) == (200, {"success": True})

    def hooks():
        return [json.loads(line) for line in bus().splitlines(True) if "hook/some/tag" in line and line.endswith("}\n")]

    (event,) = wait_until(hooks, "the event is on the bus")
    assert event["data"]["post"] == json.loads(event["data"]["body"]) == body
    assert "_stamp" in event["data"]
    assert token not in json.dumps(event)
