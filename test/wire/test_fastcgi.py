# SPDX-License-Identifier: MIT
"""The gateway against a web server that misbehaves. After each misdeed a proper request is answered."""

import json
import pathlib
import re
import socket
import struct
import subprocess
import time

import pytest

from support import fastcgi
from support.api import CRED, chunk, local
from support.daemon import BINARY, SANITIZED, master_config, run
from support.process import PATIENCE, connect, wait_until

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


def received(connection):
    """All that comes until the other side closes."""
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
    except ConnectionError:
        pass
    return data


OVERFLOWING = {
    "one length": b"\xff\xff\xff\xfe\x00",
    "both together": b"\xbf\xff\xff\xff\xbf\xff\xff\xff",
    "both by two": b"\xff\xff\xff\xff\xff\xff\xff\xff",
    "more than there is memory": b"\xb0\0\0\0\0",
}


@pytest.mark.parametrize("what", OVERFLOWING)
def test_cve_2025_23016_lengths_of_variables_that_no_memory_can_hold_close_the_connection(daemon, what):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, OVERFLOWING[what]))
        assert received(connection) == b""
        assert daemon.running and answers_properly(daemon)
    daemon.await_log("the variables of a request may have 262144 bytes; found ")


ENDLESS = {
    "many": fastcgi.record(fastcgi.PARAMS, b"\1\0a" * 21000),
    "large": fastcgi.record(fastcgi.PARAMS, fastcgi.pairs({"A" * 100: "B" * 60000})),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_variables_without_end_close_the_connection_and_take_no_memory(daemon, what):
    assert answers_properly(daemon)
    before = int(daemon.status("VmHWM"))
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.begin())
        with pytest.raises(ConnectionError):
            for _ in range(2000):  # some 100 MB
                connection.sendall(ENDLESS[what])
        assert answers_properly(daemon)
    if not SANITIZED:
        assert int(daemon.status("VmHWM")) - before < 8192  # KiB


MANAGEMENT = {
    "a question": fastcgi.record(9, fastcgi.pairs({"FCGI_MPXS_CONNS": ""}), request_id=0, padding=6),
    "a question asked too often": fastcgi.record(9, fastcgi.pairs({"FCGI_MPXS_CONNS": ""}) * 200, request_id=0),
    "an unknown one": fastcgi.record(99, b"x" * 9, request_id=0),
}


@pytest.mark.parametrize("what", MANAGEMENT)
@pytest.mark.parametrize("begun", [False, True])
def test_management_records_close_the_connection_and_get_no_byte_of_memory(daemon, what, begun):
    for _ in range(100):
        with connect(daemon.address) as connection:
            fastcgi.send(connection, (fastcgi.begin() if begun else b"") + MANAGEMENT[what] * 100)
            assert received(connection) == b""
    daemon.await_log("management records such as FCGI_GET_VALUES are not answered; found ")
    assert answers_properly(daemon)


def test_silent_connections_do_not_keep_the_others_waiting(start):
    daemon = start({"rest_fcgi": {"receive_timeout": PATIENCE / 2, "max_threads": 64}})
    silent = [connect(daemon.address) for _ in range(32)]
    for connection in silent:
        connection.sendall(fastcgi.begin()[:5])
    started = time.monotonic()
    assert answers_properly(daemon)
    assert time.monotonic() - started < PATIENCE / 2
    for connection in silent:
        connection.close()


def test_silent_connections_on_all_threads_are_given_up_after_the_receive_timeout(start):
    daemon = start({"rest_fcgi": {"receive_timeout": 5, "min_threads": 2, "max_threads": 4}})
    silent = [connect(daemon.address) for _ in range(4)]
    for connection in silent:
        fastcgi.send(connection, fastcgi.begin()[:5])
    assert answers_properly(daemon)
    for connection in silent:
        connection.close()


def test_a_byte_now_and_then_on_all_threads_is_given_up_after_the_receive_timeout(start):
    daemon = start({"rest_fcgi": {"receive_timeout": 5, "min_threads": 2, "max_threads": 4}})
    dripping = [connect(daemon.address) for _ in range(4)]
    good = connect(daemon.address)
    request = fastcgi.request(BODY)
    for connection in dripping:
        fastcgi.send(connection, request[:1])
    good.sendall(request)
    answered = False
    for byte in request[1:200]:
        for connection in dripping:
            fastcgi.send(connection, bytes([byte]))
        good.settimeout(0.2)
        try:
            answered = good.recv(1, socket.MSG_PEEK) != b""
            break
        except TimeoutError:
            continue
    assert answered and fastcgi.receive(good).status == 200
    daemon.await_log("the variables of a request have to come within receive_timeout")
    for connection in [good, *dripping]:
        connection.close()


def test_a_slow_body_that_comes_all_the_time_may_take_longer_than_the_receive_timeout(start):
    daemon = start({"rest_fcgi": {"receive_timeout": 8}})
    body = BODY + b" " * 40000
    request = fastcgi.request(body, piece=10000)
    with connect(daemon.address) as connection:
        for at in range(0, len(request), 6000):
            connection.sendall(request[at : at + 6000])
            time.sleep(1.5)
        assert fastcgi.receive(connection).status == 200


def bind_symbolically(library, copy):
    """A copy of a shared library (ELF, 64 bits) that prefers its own functions, as if linked with -Bsymbolic."""
    data = bytearray(library.read_bytes())
    table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * number) for number in range(count)]
    ((_, _, at, _, _, length),) = [header for header in headers if header[0] == 2]  # PT_DYNAMIC
    tags = {struct.unpack_from("<Q", data, entry)[0]: entry for entry in range(at, at + length, 16)}
    struct.pack_into("<QQ", data, tags[0x6FFFFFF9], 16, 0)  # DT_RELACOUNT, a mere hint, becomes DT_SYMBOLIC
    copy.write_bytes(data)


def test_without_a_say_in_what_libfcgi_reads_it_does_not_start(tmp_path):
    linked = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    library = pathlib.Path(re.search(r"libfcgi\.so\S* => (\S+)", linked)[1])
    bind_symbolically(library, tmp_path / "libfcgi.so.0")
    (tmp_path / "master").write_text(json.dumps(master_config(tmp_path)))
    ended = run("--config", str(tmp_path / "master"), env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert ended.returncode == 70
    assert "libfcgi does not read through this program's OS_Read" in ended.stderr


def test_fcgi2_issue_60_a_connection_closed_mid_request_is_logged_once_and_leaks_nothing(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[5])]).encode()))
        wait_until(lambda: daemon.connections() == 1, "the connection is served")
    daemon.await_log("did not take a reply")
    wait_until(lambda: daemon.connections() == 0, "it is closed")
    assert daemon.log().count("did not take a reply") == 1


def test_cve_2011_2766_nothing_of_one_request_is_seen_by_the_next_on_its_connection(daemon):
    with connect(daemon.address) as connection:
        connection.sendall(fastcgi.request(BODY, keep=True, HTTP_X_SECRET="one", REQUEST_METHOD="POST"))
        assert fastcgi.receive(connection).status == 200
        connection.sendall(fastcgi.request(b"", keep=True, CONTENT_TYPE=None))
        assert fastcgi.receive(connection).status == 406


@pytest.mark.parametrize("variable, status", [("REQUEST_METHOD", 405), ("CONTENT_TYPE", 406)])
def test_a_missing_variable_is_a_clear_refusal(daemon, variable, status):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY, **{variable: None}))
    assert answer.status == status and "return" in json.loads(answer.body)


def test_fcgi2_issue_13_64_kib_of_headers_are_read(daemon):
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
