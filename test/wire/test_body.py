# SPDX-License-Identifier: MIT
"""Bodies: as large as allowed, a byte larger, without a length, with a false one."""

import json

import pytest

from support import fastcgi
from support.api import JSON, local

LIMIT = 1048576


def padded(size):
    """A request that pings ms-0 and is exactly that long."""
    low = json.dumps([local("test.ping", tgt="ms-0", metadata={"pad": ""})])
    return low.replace('"pad": ""', '"pad": "%s"' % ("x" * (size - len(low))))


def in_pieces(text, size=65536):
    data = text.encode()
    return iter([data[at : at + size] for at in range(0, len(data), size)])


def refused(reply):
    assert reply.status == 413 and reply.ret.startswith("413"), reply
    assert reply.headers["content-type"].startswith("application/json")


def test_a_body_of_the_limit_is_answered(api):
    assert api.request(body=padded(LIMIT), headers=JSON).ret == [{"ms-0": True}]


def test_a_body_one_byte_over_the_limit_is_too_large(api):
    refused(api.request(body=padded(LIMIT + 1), headers=JSON))


def test_a_body_over_the_web_servers_limit_is_too_large_in_json_as_well(api):
    refused(api.request(body=padded(2 * LIMIT + 1), headers={**JSON, "Expect": "100-continue"}))


def test_the_limit_is_configurable(start, front):
    api = front(start({"rest_fcgi": {"max_request_body_size": 1000}}))
    assert api.request(body=padded(1000), headers=JSON).status == 200
    refused(api.request(body=padded(1001), headers=JSON))


@pytest.mark.parametrize("buffering", ["on", "off"])
def test_caddy_issue_5236_a_chunked_upload_is_measured_as_it_comes(daemon, front, buffering):
    api = front(daemon, http=f"fastcgi_request_buffering {buffering};")
    sent = api.request(body=in_pieces(padded(200000)), headers=JSON, chunked=True)
    assert sent.ret == [{"ms-0": True}]
    refused(api.request(body=in_pieces(padded(LIMIT + 1)), headers=JSON, chunked=True))
    assert api.request(body=in_pieces(padded(1000)), headers=JSON, chunked=True).status == 200


BODY = json.dumps([local("test.ping", tgt="ms-0")]).encode()


def test_without_a_length_the_body_is_what_arrives(daemon):
    assert json.loads(fastcgi.talk(daemon.address, fastcgi.request(BODY, CONTENT_LENGTH=None)).body) == {
        "return": [{"ms-0": True}]
    }


def test_without_a_length_the_limit_holds(daemon):
    answer = fastcgi.talk(daemon.address, fastcgi.request(padded(LIMIT + 1).encode(), CONTENT_LENGTH=None))
    assert answer.status == 413 and answer.ended


@pytest.mark.parametrize("length", [len(BODY) + 1, len(BODY) - 1, -1, "abc", "1e3", " ", "0x10", 2**64, 2**63 - 1])
def test_a_length_that_lies_is_refused_and_the_next_request_is_answered(daemon, length):
    answer = fastcgi.talk(daemon.address, fastcgi.request(BODY, CONTENT_LENGTH=str(length)))
    assert answer.status in (400, 413) and "return" in json.loads(answer.body)
    assert fastcgi.talk(daemon.address, fastcgi.request(BODY)).status == 200
