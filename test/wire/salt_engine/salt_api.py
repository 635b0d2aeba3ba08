# SPDX-License-Identifier: MIT
"""A real salt-api in front of a real master, and salt-api's answers to the rows."""

import html
import http.client
import json
import re
import signal

from comparison import in_any_order, neutral
from oracle import Recording, settled
from rest_row import CRED, LIMITED
from support.netapi import TIMEOUT as ANSWER
from support.netapi import Unanswered
from support.process import TIMEOUT, wait_until
from support.salt_master import Program

WAYS = ("rest_cherrypy", "rest_tornado")
LOGINS = {"admin": CRED, "once": CRED, "limited": LIMITED}
HEADERS = ("Content-Type", "Allow", "Cache-Control", "WWW-Authenticate", "Location", "Access-Control-Allow-Methods")
SAME = ("Allow", "WWW-Authenticate", "Access-Control-Allow-Methods")  # rest_fcgi must send these headers
HEX = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
TIME = re.compile(r"\b1\d{9}\.\d+\b")


class Server:
    """One interface of salt-api on a port, with a session for each user."""

    def __init__(self, way, port, places=()):
        self.way, self.port, self.places = way, port, places
        self._tokens = {}

    def ask(self, row):
        headers = dict(row.headers)
        if row.who:
            headers["X-Auth-Token"] = self._token(row.who)
        status, names, body = self.send(row.method, row.path, row.body, headers)
        answer = {"status": status, "headers": {name: names[name.lower()] for name in HEADERS if name.lower() in names}}
        return answer | self._body(row, names.get("content-type", ""), body)

    def send(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
        except OSError as error:
            raise Unanswered(f"{method} {path}: {error}") from error
        finally:
            connection.close()

    def is_up(self):
        try:
            return self.send("GET", "/")[0] == 200
        except Unanswered:
            return False

    def _token(self, who):
        if who not in self._tokens or who == "once":
            body = json.dumps(LOGINS[who]).encode()
            status, _, body = self.send("POST", "/login", body, {"Content-Type": "application/json"})
            assert status == 200, (who, status, body)
            token = json.loads(body)["return"][0]["token"]
            self._tokens[who] = token
            return token
        return self._tokens[who]

    def _body(self, row, media, body):
        text = body.decode(errors="replace")
        if row.method == "HEAD":
            assert not text, text
            return {}
        if media.startswith("application/json"):
            return {"json": like(row, neutral(_without_secrets(json.loads(text)), self.places))}
        if "<p>" in text:
            text = html.unescape(re.search(r"<p>(.*?)</p>", text, re.DOTALL)[1])
        return {"text": neutral(text.strip(), self.places)}


def _without_secrets(value):
    return json.loads(TIME.sub('"TIME"', HEX.sub("TOKEN", json.dumps(value))))


def like(row, value):
    """Returns the comparable part of a value whose minions or order can differ."""
    if isinstance(value, dict):
        return {key: sorted(one) if key == "minions" and isinstance(one, list) else like(row, one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    if b'"local_subset"' in row.body:
        return [sorted(one.values()) for one in value]
    return in_any_order(value) if b'"local_batch"' in row.body else [like(row, one) for one in value]


def sentence(answer):
    found = answer.get("json")
    if isinstance(found, dict) and answer["status"] >= 400:
        return found.get("return")
    return found if "json" in answer else answer.get("text")


def is_as_said(answer, ours):
    """Returns whether an answer has the intended difference of a row."""
    status, part = ours
    return answer["status"] in (status if isinstance(status, tuple) else (status,)) and part in str(sentence(answer))


def compared(row, answer):
    """Returns the parts of an answer to compare. The headers of errors are not compared."""
    same = SAME if answer["status"] < 400 and row.way == "rest_cherrypy" else ()
    return answer["status"], {name: answer["headers"].get(name) for name in same}, sentence(answer)


def recording(series):
    return Recording(series, "rest", lambda row: row.asked)


def ask(servers, row, wanted=None):
    return settled(row.name, lambda: servers[row.way].ask(row), wanted)


class SaltApi:
    def __init__(self, salt):
        self._api = Program(salt.folder, "api", {}, salt.home / "master")
        self.servers = {way: Server(way, salt.config[way]["port"], salt.places) for way in WAYS}
        try:
            self._api.start()
            for server in self.servers.values():
                wait_until(server.is_up, f"{server.way} answers; salt-api says: {self._api.log()}", 4 * TIMEOUT)
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self):
        return self._api.pids

    def stop(self):
        self._api.stop(signal.SIGKILL)
