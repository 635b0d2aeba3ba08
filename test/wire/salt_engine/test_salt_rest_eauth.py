# SPDX-License-Identifier: MIT
"""A master with the eauth back end `rest`. Its HTTP server is in this file.
Salt keeps the permissions of `rest` users in tokens (`keep_acl_in_token`)."""

import http.server
import json
import shutil
import threading
import urllib.parse

import pytest
from support import salts
from support.api import CRED
from support.process import short_directory
from support.salt_engine import Engine
from support.salt_master import SECRET, Salt
from test_salt_sessions import PING, send

REST = {"rest_fcgi": {"netapi": ["rest_cherrypy", "rest_wsgi"]}, "rest_cherrypy": None, "rest_tornado": None}
RIGHTS = {"ann": ["test.ping", {"ms-*": ["test.echo"]}, "@runner"], "bob": []}
PASSWORD = "word-of-the-directory"
RUNNER = {"client": "runner", "fun": "test.arg", "arg": [1]}
WHEEL = {"client": "wheel", "fun": "key.list_all"}
OTHERS = (CRED, {"eauth": "sharedsecret", "username": "admin", "password": SECRET}, {**CRED, "eauth": "auto"})


ID_TOKEN = "header.payload.signature"
OIDC = f"def auth(username, token):\n    return username == 'ann' and token == {ID_TOKEN!r}\n"


class Directory(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        good = form.get("password") == PASSWORD and form.get("username") in RIGHTS
        body = json.dumps(RIGHTS[form["username"]] if good else []).encode()
        self.send_response(200 if good else 403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def engine():
    folder = salts.require(salts.SERIES[0])
    home = short_directory()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Directory) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        eauths = {"rest": {"^url": f"http://127.0.0.1:{server.server_port}/"}, "oidc": {"ann": ["test.ping"]}}
        (home / "oidc.py").write_text(OIDC)
        master = {"external_auth": eauths, "auth_dirs": [str(home)]}
        salt = Salt(folder, home, salts.SERIES[0], master, minions=("ms-0",))
        engine = Engine(salt, home / "engine", REST)
        yield engine
        assert engine.stop() == 0
        salt.stop()
        server.shutdown()
    shutil.rmtree(home, ignore_errors=True)


def ann(low):
    return {**low, "eauth": "rest", "username": "ann", "password": PASSWORD}


@pytest.mark.parametrize("credentials", OTHERS, ids=[one["eauth"] for one in OTHERS])
def test_passwords_of_other_back_ends_permit_calls(engine, credentials):
    for low, ret in ((PING, {"ms-0": True}), (RUNNER, {"args": [1], "kwargs": {}})):
        assert send(engine, "/run", [{**low, **credentials}]) == (200, {"return": [ret]})
    status, reply = send(engine, "/run", [{**WHEEL, **credentials}])
    assert status == 200 and reply["return"][0]["data"]["success"], reply
    assert send(engine, "/run", [{**PING, **credentials, "eauth": "file", "password": "wrong"}])[0] == 401


def test_a_login_may_have_a_token_of_the_back_end_in_place_of_a_password(engine):
    login = {"eauth": "oidc", "username": "ann", "token": ID_TOKEN}
    status, reply = send(engine, "/login", login)
    assert status == 200 and reply["return"][0]["eauth"] == "oidc", reply
    # Salt passes a password on, too, and calls no back end with an argument that the back end does not have.
    for wrong in ({"token": "x"}, {"token": ""}, {"token": None}, {"username": "bob"}, {"eauth": "file"}, {"password": "x"}):
        assert send(engine, "/login", {**login, **wrong})[0] == 401, wrong


def test_a_login_has_the_permissions_of_the_back_end(engine):
    status, reply = send(engine, "/login", ann({}))
    assert status == 200
    (session,) = reply["return"]
    assert session["perms"] == RIGHTS["ann"]
    for low, expected in ((PING, 200), (RUNNER, 200), (WHEEL, 401), ({**PING, "fun": "test.arg"}, 401)):
        assert send(engine, "/", [low], session["token"])[0] == expected
        assert send(engine, "/run", [ann(low)])[0] == expected
