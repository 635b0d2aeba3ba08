# SPDX-License-Identifier: MIT
"""The gateway against a web server that misbehaves. After each misdeed a proper request is answered."""

import json
import struct
import time

import pytest

from support import fastcgi
from support.api import CRED, chunk, local
from support.daemon import SANITIZED
from support.process import connect, wait_until

BODY = json.dumps([local("test.ping", tgt="ms-0")]).encode()


def answers_properly(daemon):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY))
    return answer.status == 200 and json.loads(answer.body) == {"return": [{"ms-0": True}]}


@pytest.mark.parametrize("piece", [1, 7, 8, 65535])
def test_records_may_be_cut_anywhere(daemon, piece):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY, piece=piece))
    assert answer.status == 200 and answer.ended and answer.stderr == b""


def test_a_kept_connection_carries_one_request_after_the_other(daemon):
    with connect(daemon.address) as connection:
        for _ in range(50):
            connection.sendall(fastcgi.request(BODY, keep=True))
            answer = fastcgi.receive(connection)
            assert answer.status == 200 and answer.ended


def test_a_connection_that_is_not_kept_is_closed(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(BODY))
        assert fastcgi.receive(connection).ended
        assert connection.recv(1) == b""


NONSENSE = {
    "nothing": b"",
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "another version": fastcgi.record(fastcgi.BEGIN_REQUEST, b"\0\1\0\0\0\0\0\0", version=9),
    "another role": fastcgi.begin(role=3) + fastcgi.stream(fastcgi.PARAMS, b""),
    "half a header": fastcgi.begin()[:5],
    "no parameters": fastcgi.begin(),
    "half a body": fastcgi.request(BODY)[:-20],
    "a name of 2 GiB": fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF)),
    "a value cut short": fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, b"\x04\x7fNAMEx"),
    "no variables": fastcgi.begin() + fastcgi.record(fastcgi.PARAMS) + fastcgi.record(fastcgi.STDIN),
    "an abort": fastcgi.begin() + fastcgi.record(fastcgi.ABORT_REQUEST),
    "an unknown record": fastcgi.begin() + fastcgi.record(99, b"x" * 100),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_ends_its_own_connection_only(daemon, what):
    with connect(daemon.address) as connection:
        fastcgi.send(connection, NONSENSE[what])
    assert answers_properly(daemon)


@pytest.mark.skipif("address" in SANITIZED, reason="libfcgi leaks 48 bytes for each unknown management record")
def test_unknown_management_records_do_no_harm(daemon):
    with connect(daemon.address) as connection:
        fastcgi.send(connection, fastcgi.record(99, b"x" * 9, request_id=0) * 100)
    assert answers_properly(daemon)


def test_silent_connections_do_not_keep_the_others_waiting(start):
    daemon = start({"rest_fcgi": {"receive_timeout": 2, "max_threads": 64}})
    silent = [connect(daemon.address) for _ in range(32)]
    for connection in silent:
        connection.sendall(fastcgi.begin()[:5])
    started = time.monotonic()
    assert answers_properly(daemon)
    assert time.monotonic() - started < 2
    for connection in silent:
        connection.close()


def test_silent_connections_on_all_threads_are_given_up_after_the_receive_timeout(start):
    daemon = start({"rest_fcgi": {"receive_timeout": 1, "min_threads": 2, "max_threads": 4}})
    silent = [connect(daemon.address) for _ in range(4)]
    for connection in silent:
        connection.sendall(fastcgi.begin()[:5])
    assert answers_properly(daemon)
    for connection in silent:
        connection.close()


def test_a_connection_closed_mid_request_is_logged_once_and_leaks_nothing(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[1])]).encode()))
        wait_until(lambda: daemon.connections() == 1, "the connection is served")
    daemon.await_log("did not take a reply")
    wait_until(lambda: daemon.connections() == 0, "it is closed")
    assert daemon.log().count("did not take a reply") == 1


def test_nothing_of_one_request_is_seen_by_the_next_on_its_connection(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(BODY, keep=True, HTTP_X_SECRET="one", REQUEST_METHOD="POST"))
        assert fastcgi.receive(connection).status == 200
        connection.sendall(fastcgi.request(b"", keep=True, CONTENT_TYPE=None))
        assert fastcgi.receive(connection).status == 406


@pytest.mark.parametrize("variable, status", [("REQUEST_METHOD", 405), ("CONTENT_TYPE", 406)])
def test_a_missing_variable_is_a_clear_refusal(daemon, variable, status):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY, **{variable: None}))
    assert answer.status == status and "return" in json.loads(answer.body)


def test_64_kib_of_headers_are_read(daemon):
    headers = {f"HTTP_X_{number}": "v" * 1000 for number in range(64)}
    assert fastcgi.talk(daemon.address, fastcgi.request(BODY, **headers)).status == 200


def test_errors_cannot_inject_headers(daemon):
    body = json.dumps([chunk("x\r\nSet-Cookie: a=b\r\n\r\n", "test.ping")]).encode()
    answer = fastcgi.talk(daemon.address, fastcgi.request(body))
    assert b"Set-Cookie" not in answer.stdout.split(b"\r\n\r\n")[0]
    assert json.loads(answer.body)["return"].startswith("Invalid client specified")


def test_user_names_cannot_forge_a_log_line(daemon):
    body = json.dumps([{**local("test.ping"), **CRED, "username": "x\nforged line", "fun": "a\nforged"}]).encode()
    fastcgi.talk(daemon.address, fastcgi.request(body))
    assert not any(line.startswith("forged") for line in daemon.log().splitlines())
