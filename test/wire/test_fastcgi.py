# SPDX-License-Identifier: MIT
"""A misbehaving web server connects to the gateway."""

import json
import struct

from support import fastcgi
from support.api import local
from support.process import connect

BODY = json.dumps([local("test.ping", tgt="ms-0")]).encode()
OVERFLOWING = (b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\xff\xff\xff\xff\x00", b"\x01\xff\xff\xff\xff")

MALFORMED = {
    "nothing": b"",
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "another version": fastcgi.record(fastcgi.BEGIN_REQUEST, b"\0\1\0\0\0\0\0\0", version=9),
    "half a body": fastcgi.request(BODY)[:-20],
    "a name of 2 GiB": fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF)),
    "an abort": fastcgi.begin() + fastcgi.record(fastcgi.ABORT_REQUEST),
    "an unknown record": fastcgi.begin() + fastcgi.record(99, b"x" * 100),
    **{f"lengths {sent!r}": fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, sent) for sent in OVERFLOWING},
}


def test_cve_2023_20897_cve_2017_14696_cve_2025_23016_malformed_records_stop_no_other_request(start):
    daemon = start({"rest_fcgi": {"max_threads": 4}})
    for what, data in MALFORMED.items():
        for _ in range(8):
            with connect(daemon.address) as connection:
                fastcgi.send(connection, data)
        answer = fastcgi.talk(daemon.address, fastcgi.request(BODY))
        assert answer.status == 200 and json.loads(answer.body) == {"return": [{"ms-0": True}]}, what
    assert daemon.running


def test_fcgi2_issue_13_64_kib_of_headers_are_accepted(daemon):
    headers = {f"HTTP_X_{number}": "v" * 1000 for number in range(64)}
    assert fastcgi.talk(daemon.address, fastcgi.request(BODY, **headers)).status == 200
