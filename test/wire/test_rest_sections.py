# SPDX-License-Identifier: MIT
"""Keys of the section `rest_cherrypy:` about logs, sizes and addresses."""

import http.client
import json
import re
import signal
import socket

import pytest

from support.api import JSON, local
from support.process import PATIENCE, free_port
from support.rest import api_of, login, serving, session

LINE = re.compile(r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([^"]*)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"')


@pytest.fixture
def log(directory):
    return directory / "access"


def lines(log):
    matches = [LINE.fullmatch(line) for line in log.read_text().splitlines()]
    assert all(matches), log.read_text()
    return [match.groups() for match in matches]


def test_each_request_is_a_line_over_http_and_fastcgi(start, front, log):
    changes = serving(log_access_file=str(log))
    nginx = front(start(changes))
    for api in (api_of(changes), nginx):
        reply = api.request("GET", "/minions?a=b", headers={"User-Agent": 'a"b', "Referer": "https://gui/"})
        api.request("HEAD", "/")
    got, head, over_nginx, _ = lines_with_quotes(log)
    assert got == f'"GET /minions?a=b HTTP/1.1" 401 {len(reply.text)} "https://gui/" "a\\"b"'
    assert over_nginx == got and head.startswith('"HEAD / HTTP/1.1" 200 ')


def lines_with_quotes(log):
    return [line.split("] ", 1)[1] for line in log.read_text().splitlines()]


def test_no_token_and_no_password_is_in_it(start, log):
    changes = serving(log_access_file=str(log))
    api = api_of(changes)
    start(changes)
    token = login(api)
    api.request("GET", f"/ws/{token}", headers={**session(token), "Referer": f"https://gui/?token={token}"})
    api.request("GET", f"/jobs?token={token[:8]}&password=canary&x=1", headers={"Cookie": f"session_id={token}"})
    text = log.read_text()
    assert token[:8] not in text and "canary" not in text
    assert [line[0] for line in lines(log)][1:] == ["GET /ws/*** HTTP/1.1", "GET /jobs?token=***&password=***&x=1 HTTP/1.1"]


def test_a_rotated_log_is_begun_anew(start, log):
    changes = serving(log_access_file=str(log))
    daemon, api = start(changes), api_of(changes)
    api.request("GET", "/first")
    log.rename(log.with_suffix(".1"))
    daemon.kill(signal.SIGHUP)
    daemon.await_log("configuration reread")
    api.request("GET", "/second")
    assert len(lines(log)) == len(lines(log.with_suffix(".1"))) == 1


def test_errors_have_a_file_of_their_own(start, directory):
    errors = directory / "errors"
    changes = serving(log_error_file=str(errors), nosuch=1)
    daemon = start(changes)
    assert "nosuch" in errors.read_text() and "nosuch" in daemon.log()


def test_at_level_debug_each_request_is_in_the_log_too(start):
    changes = serving()
    changes["rest_fcgi"]["log_level"] = "debug"
    daemon = start(changes)
    reply = api_of(changes).request("GET", "/nosuch")
    assert reply.status == 404 and "Traceback" not in reply.text
    daemon.await_log('"GET /nosuch HTTP/1.1" 404')


@pytest.mark.parametrize("size, statuses", [(1500000, [200, 413]), (1000, [413, 413])])
def test_bodies_may_be_as_large_as_each_module_says(start, front, size, statuses):
    changes = serving(max_request_body_size=size)
    changes["rest_fcgi"] = {"netapi": ["rest_wsgi", "rest_cherrypy"], "mount": {"/": "rest_wsgi", "/api": "rest_cherrypy"}}
    nginx = front(start(changes))
    body = json.dumps([local("test.echo", "ms-0", arg=["x" * 1200000])])
    replies = [nginx.request("POST", path, body, JSON) for path in ("/api/run", "/")]
    assert [reply.status for reply in replies] == statuses
    assert api_of(changes).request("POST", "/run", body, JSON).status == statuses[0]


def test_rest_tornado_listens_on_all_addresses_unless_one_is_named(start):
    port = free_port()
    start({"rest_fcgi": {"netapi": ["rest_tornado"]}, "rest_tornado": {"port": port, "disable_ssl": True}})
    addresses = ["127.0.0.1"] + ["::1"] * socket.has_ipv6
    for address in addresses:
        connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
    named = free_port()
    start({"rest_fcgi": {"netapi": ["rest_tornado"]}, "rest_tornado": {"port": named, "disable_ssl": True, "address": "[::1]"}})
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", named), timeout=PATIENCE)
    socket.create_connection(("::1", named), timeout=PATIENCE).close()
