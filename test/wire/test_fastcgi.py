# SPDX-License-Identifier: MIT
"""A misbehaving web server connects to the gateway. After each fault the gateway answers a valid request."""

import json
import struct

import pytest

from support import fastcgi
from support.api import local
from support.process import connect, wait_until

BODY = json.dumps([local("test.ping", tgt="ms-0")]).encode()


def answers_properly(daemon):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY))
    return answer.status == 200 and json.loads(answer.body) == {"return": [{"ms-0": True}]}


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
def test_a_malformed_record_closes_its_own_connection_only(daemon, what):
    with connect(daemon.address) as connection:
        fastcgi.send(connection, NONSENSE[what])
    assert answers_properly(daemon)


def received(connection):
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
    except ConnectionError:
        pass
    return data


OVERFLOWING = {
    "both lengths": b"\xff\xff\xff\xff\xff\xff\xff\xff",
    "a name's": b"\xff\xff\xff\xff\x00",
    "a value's": b"\x01\xff\xff\xff\xff",
}


@pytest.mark.parametrize("what", OVERFLOWING)
def test_cve_2025_23016_overflowing_lengths_of_variables_close_the_connection(daemon, what):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, OVERFLOWING[what]))
        assert received(connection) == b""
        assert daemon.running and answers_properly(daemon)


def test_fcgi2_issue_60_a_connection_closed_during_a_request_is_logged_once_and_leaks_nothing(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[5])]).encode()))
        wait_until(lambda: daemon.connections() == 1, "the connection is served")
    daemon.await_log("did not read a reply")
    wait_until(lambda: daemon.connections() == 0, "it is closed")
    assert daemon.log().count("did not read a reply") == 1


def test_cve_2011_2766_a_request_sees_no_variable_of_the_previous_request(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(BODY, keep=True, HTTP_X_SECRET="one", REQUEST_METHOD="POST"))
        assert fastcgi.receive(connection).status == 200
        connection.sendall(fastcgi.request(b"", keep=True, CONTENT_TYPE=None))
        assert fastcgi.receive(connection).status == 406


def test_fcgi2_issue_13_64_kib_of_headers_are_accepted(daemon):
    headers = {f"HTTP_X_{number}": "v" * 1000 for number in range(64)}
    assert fastcgi.talk(daemon.address, fastcgi.request(BODY, **headers)).status == 200
