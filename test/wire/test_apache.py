# SPDX-License-Identifier: MIT

import json

import pytest

from support import apache as apaches
from support import daemon as daemons
from support.api import JSON, local
from support.process import free_port

PING = [{"ms-0": True, "ms-1": True, "ms-2": True}]


@pytest.fixture
def behind(directory, start, keep):
    """Starts Apache with a configuration of apache/. Example: behind("fcgid", changes)."""

    def starter(sample, changes=None):
        home = directory / "apache"
        if sample == "fcgid":
            return keep(apaches.Fcgid(home, changes))
        group = {"rest_fcgi": {"socket_group": apaches.USER}} if apaches.AS_USER else {}
        port = free_port() if sample == "http" else None
        own = daemons.merge(group, {"rest_fcgi": {"netapi": ["rest_wsgi"]}, "rest_wsgi": {"port": port}} if port else {})
        daemon = start(daemons.merge(own, changes or {}), tcp="tcp" in sample)
        return keep(apaches.Proxying(home, daemon, http_port=port))

    return starter


@pytest.fixture(params=apaches.OVER_APACHE)
def sample(request):
    return request.param


@pytest.fixture
def apache(behind, sample):
    """A running rest_fcgi without free workers, so that it answers 503 to test.sleep."""
    return behind(sample, {"rest_fcgi": {"embedded": {"max_workers": 1, "max_queued": 0}}})


def test_each_apache_sample_passes_requests_replies_and_errors(apache):
    for _ in range(10):
        assert apache.run(local("test.ping")) == PING
    assert apache.post(local("nosuch.function", tgt="nobody"), {"client": "nosuch"}).status == 400
    assert apache.post(local("test.ping", eauth="nosuch")).json == {"return": "Authorization error occurred."}
    assert apache.request(path="/run", body="[]", headers=JSON).json == {"return": "404: Not Found"}
    put = apache.request("PUT")
    assert (put.status, put.headers["allow"]) == (405, "GET, HEAD, POST")
    assert apache.request(body="[]").json == {"return": "406: JSON required"}
    large = apache.request(body="[" * (32 << 20) + "[", headers=JSON)
    assert large.status == 413 and "max_request_body_size" in large.ret
    busy = apache.post(local("test.sleep", arg=[0.1]))
    assert busy.status == 503 and busy.ret != "503: Service Unavailable"
    for reply in (put, large, busy):
        assert reply.headers["content-type"] == "application/json" and isinstance(reply.ret, str) and reply.ret
    for path in ("/a/", "/run/", "/rest_fcgi", "/a%2fb", "/fcgi://x/", "/.", "/?a=b/c&d", "/x?/"):
        assert apache.request(path=path, body="[]", headers=JSON).status == (200 if path in ("/.", "/?a=b/c&d") else 404), path
    apache.post(local("test.ping"), **{"X-Forwarded-For": "203.0.113.1", "Proxy": "http://203.0.113.1/"})
    assert "remote_addr=127.0.0.1" in apache.log() and "203.0.113.1" not in apache.log()


def test_httpd_bug_57087_httpd_bug_53332_a_large_body_arrives_whole_without_a_temporary_file(apache):
    assert apache.run(local("test.ping")) == PING
    before = apache.last_temporary_file()
    text = "x" * 900000
    body = json.dumps([local("test.echo", tgt="ms-0", arg=[text])]).encode()
    for chunked in (False, True):
        pieces = (body[at : at + 50000] for at in range(0, len(body), 50000))
        reply = apache.request(body=pieces if chunked else body, headers=JSON, chunked=chunked)
        assert reply.ret == [{"ms-0": text}], chunked
    assert apache.last_temporary_file() == before


REFUSED = {
    "request line": (b"POST\r\n\r\n", 400),
    "URI": (b"POST /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    "overlong URI": (b"POST /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    "header": (b"POST / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 400),
    "overlong header": (b"POST / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n", 400),
    "method": (b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
}


def test_salt_issue_51109_apache_refuses_malformed_requests_and_an_endless_body_in_json(apache, sample):
    for name, (data, status) in REFUSED.items():
        reply = apache.exchange(data)
        assert (reply.status, reply.headers["content-type"]) == (status, "application/json"), name
        assert reply.ret.startswith(f"{status}: "), name
    endless = apache.request(body=iter([b"["] * 3 + [b"[" * (1 << 20)] * 65), headers=JSON, chunked=True)
    # mod_fcgid answers 500 to a body that is too large
    assert endless.status == (500 if sample == "fcgid" else 413) and endless.ret


def test_apache_answers_503_while_the_responder_is_stopped(behind):
    apache = behind("unix")
    apache.daemon.stop()
    reply = apache.post(local("test.ping"))
    assert (reply.status, reply.json) == (503, {"return": "503: Service Unavailable"})
    assert reply.headers["content-type"] == "application/json" and "retry-after" in reply.headers


def test_apache_answers_an_error_in_json_and_logs_why_the_program_does_not_start(behind):
    apache = behind("fcgid", {"rest_fcgi": {"nosuch_key": 1}})
    reply = apache.post(local("test.ping"))
    assert reply.status in (500, 503) and reply.ret.startswith(f"{reply.status}: ")
    assert "nosuch_key" in apache.error_log()
