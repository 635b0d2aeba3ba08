# SPDX-License-Identifier: MIT
"""Reloads and changes of the binary under load. No request fails, and every stream ends with a close."""

import http.client
import select
import shutil
import signal
import threading

import pytest
from support import daemon as daemons
from support.api import JSON, Api
from support.ledger import Ledger, await_answers, load, over_fastcgi, over_http
from support.process import TIMEOUT, free_port, wait_until
from support.rest import login, session
from support.streams import Sse, WebSocket, hook
from support.units import Unit

SWAPS = 20 if daemons.LONG else 2
RELOADS = 250 if daemons.LONG else 6
LISTENERS = 20
WITH_IT = {"rest_fcgi", "rest_fcgi_run", "modules", "module_loader.py", "salt_exceptions.py", "salt_functions.py", "minion_options.json"}
AT_WORK = 2


@pytest.fixture
def unit(directory):
    """A running rest_fcgi with rest_wsgi over FastCGI, and rest_cherrypy on a port from the service manager."""
    port = free_port()
    cherrypy = {"port": port, "host": "127.0.0.1", "disable_ssl": True}
    own = {"netapi": ["rest_wsgi", "rest_cherrypy"]}
    one = Unit(directory / "unit", {"rest_fcgi": own, "rest_cherrypy": cherrypy, "log_level": "info"}, ports=[port])
    one.http = Api("127.0.0.1", port)
    yield one
    one.stop()


class Kept:
    """Sends over one kept connection per thread. A connection that was closed after the last reply is replaced."""

    def __init__(self, api, headers):
        self._api, self._headers = api, {**JSON, **headers}
        self._own = threading.local()

    def __call__(self, body):
        connection, self._own.connection = getattr(self._own, "connection", None), None
        if connection is None or select.select([connection.sock], [], [], 0)[0]:
            connection = self._api.connection()
        try:
            connection.request("POST", "/", body, self._headers)
            reply = connection.getresponse()
            text = reply.read().decode()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        if reply.getheader("Connection") != "close":
            self._own.connection = connection
        return reply.status, text


def nobody_failed(ledger, title, capsys):
    ledger.close(title, capsys=capsys)
    assert ledger.count("answered") == ledger.sent, ledger.reasons


def test_no_request_fails_during_a_change_of_the_binary(unit, front, directory, capsys):
    token = login(unit.http)
    other = directory / "other/rest_fcgi"
    shutil.copytree(unit.binary.parent, other.parent, ignore=lambda folder, names: set(names) - WITH_IT if folder == str(unit.binary.parent) else ())
    nginx = front(unit)
    ledger = Ledger(directory)
    ways = [over_fastcgi(unit.address), over_http(nginx), over_http(unit.http, headers=session(token))]
    ways.append(Kept(unit.http, headers=session(token)))
    with load(ledger, *ways, threads=AT_WORK * len(ways), clients=["local"]):
        for turn in range(SWAPS):
            await_answers(ledger, 30)
            assert unit.replace(binary=other if turn % 2 else None) == 0
        await_answers(ledger, 30)
    assert unit.starts == SWAPS + 1
    nobody_failed(ledger, f"{SWAPS} swaps of the binary", capsys)


def test_kept_fastcgi_connections_get_at_most_a_502_during_a_change_of_the_binary(unit, front, directory, capsys):
    """FastCGI cannot announce the last reply of a connection (deploy/rest.md)."""
    ledger = Ledger(directory)
    with load(ledger, over_http(front(unit, sample="unix_keepalive")), clients=["local"]):
        for _ in range(SWAPS):
            await_answers(ledger, 30)
            assert unit.replace() == 0
        await_answers(ledger, 30)
    ledger.close(f"{SWAPS} swaps under kept connections", capsys=capsys)
    assert set(ledger.statuses) <= {200, 502} and ledger.count("cut off") == 0


class Listener(threading.Thread):
    """Reads events to the end of the stream. `end` tells how the stream ended."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.numbers, self.end = stream, [], None
        self.start()

    def run(self):
        try:
            while event := self.stream.event():
                self.numbers += [event["data"]["post"]["number"]] if "post" in event["data"] else []
            # A stream is complete if its end is the last HTTP chunk or a close frame.
            self.end = getattr(self.stream, "end", "whole")
        except (OSError, EOFError, http.client.HTTPException, AssertionError) as error:
            self.end = error


def listeners(unit, token):
    """Starts listeners. Half of the listeners use server-sent events, and the others use WebSockets."""
    path = f"/ws/{token}"
    streams = [Sse(unit.http, token) if at % 2 else WebSocket(unit.http, path).ready() for at in range(LISTENERS)]
    return [Listener(stream) for stream in streams]


def test_no_request_fails_and_no_stream_ends_during_reloads(unit, front, directory, capsys):
    token = login(unit.http)
    heard = listeners(unit, token)
    ledger = Ledger(directory)
    ways = [over_fastcgi(unit.address), over_http(front(unit)), over_http(unit.http, headers=session(token))]
    ways.append(Kept(unit.http, headers=session(token)))
    with load(ledger, *ways, threads=len(ways), clients=["local"], pause=0.02):
        for number in range(RELOADS):
            unit.send_signal(signal.SIGHUP)
            hook(unit.http, token, number=number)
            wait_until(lambda: unit.log().count("configuration reread") > number, "it is reread")
            await_answers(ledger, 10)
    nobody_failed(ledger, f"{RELOADS} times SIGHUP under {LISTENERS} streams", capsys)
    wait_until(lambda: all(one.end or len(one.numbers) == RELOADS for one in heard), "all have heard all")
    assert [one.numbers for one in heard] == [list(range(RELOADS))] * LISTENERS
    assert unit.replace() == 0
    for one in heard:
        one.join(TIMEOUT)
    assert [one.end for one in heard] == [(1001, "the server stops"), "whole"] * (LISTENERS // 2)
