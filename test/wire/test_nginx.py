# SPDX-License-Identifier: MIT

import http.client
import json
import re
import signal
import socket
import ssl
import threading

import pytest

from support.api import JSON, local
from support.daemon import ROOT
from support.process import wait_until

@pytest.mark.parametrize("sample, kept", [("unix_keepalive", True), ("unix", False)])
def test_the_keepalive_sample_keeps_connections(daemon, front, sample, kept):
    api = front(daemon, sample=sample)
    for _ in range(3):
        api.run(local("test.ping"))
        wait_until(lambda: (daemon.connections() > 0) == kept, "the connections are kept or closed")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_tls_sample_refuses_versions_before_1_2_and_plain_http(daemon, front):
    api = front(daemon, sample="tls")
    context = ssl.create_default_context(cafile=str(api.ca))
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    connection = http.client.HTTPSConnection("localhost", api.port, timeout=30, context=context)
    with pytest.raises(ssl.SSLError):
        connection.request("GET", "/")
    reply = api.exchange(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert reply.status == 400 and reply.ret.startswith("400: ")


def test_nginx_writes_no_request_or_reply_to_a_file(nginx):
    marker = "marker-" + "m" * 300000
    assert nginx.run(local("test.echo", tgt="ms-0", arg=[marker])) == [{"ms-0": marker}]
    assert not [path for path in nginx.files() if b"marker-" in path.read_bytes()]
    assert "temporary file" not in nginx.error_log()


def test_nginx_answers_502_in_json_while_the_responder_is_stopped(daemon, nginx):
    daemon.stop()
    reply = nginx.post(local("test.ping"))
    assert (reply.status, reply.json) == (502, {"return": "502: Bad Gateway"})
    assert reply.headers["content-type"] == "application/json" and "retry-after" in reply.headers


def test_nginx_trac_488_a_failed_request_is_not_sent_to_another_responder(start, front):
    daemons = [start(), start()]
    nginx = front(*daemons)
    wait_until(lambda: not any(daemon.connections() for daemon in daemons), "no connection waits")
    connection = nginx.connection()
    connection.request("POST", "/", json.dumps([local("test.sleep", arg=[30])]), JSON)

    def busy():
        return [daemon for daemon in daemons if daemon.connections() > 0]

    (first,) = wait_until(busy, "one of them has the request")
    first.kill(signal.SIGKILL)
    first.wait()
    assert connection.getresponse().status == 502
    connection.close()
    (other,) = [daemon for daemon in daemons if daemon is not first]
    assert other.connections() == 0 and "test.sleep" not in other.log()


HOST = b"Host: localhost\r\n"
REFUSED = {
    "a request line": (b"POST\r\n\r\n", 400),
    "a method": (b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    "a version": (b"POST / HTTP/7.1\r\n" + HOST + b"\r\n", 505),
    "a path": (b"POST /%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "an overlong URI": (b"POST /" + b"x" * 40000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    "an overlong header": (b"POST / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 40000 + b"\r\n\r\n", 400),
    "many headers": (b"POST / HTTP/1.1\r\n" + HOST + (b"X: " + b"x" * 1000 + b"\r\n") * 100 + b"\r\n", 400),
    "no host": (b"POST / HTTP/1.1\r\n\r\n", 400),
    "a transfer coding": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: x\r\n\r\n", 501),
    "a large body": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999\r\n\r\n", 413),
}


def test_salt_issue_51109_nginx_refuses_malformed_requests_in_json(nginx):
    for name, (data, status) in REFUSED.items():
        reply = nginx.exchange(data)
        assert (reply.status, reply.headers["content-type"]) == (status, "application/json"), name
        assert reply.ret.startswith(f"{status}: "), name


def test_nginx_answers_504_in_json_after_its_timeout(start, front):
    nginx = front(start({"rest_fcgi": {"shutdown_timeout": 1}}), timeout=1)
    reply = nginx.post(local("test.sleep", arg=[30]))
    assert (reply.status, reply.json) == (504, {"return": "504: Gateway Time-out"})
    assert "retry-after" not in reply.headers


NOT_IN_REQUESTS = {"HTTP_PROXY_AUTHORIZATION", "HTTP_REMOTE_ADDR", "HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH"}
# The nginx files set the headers below only for the HTTP port. Over FastCGI, the CGI variables have the same information.
SET_BY_PROXIES = {"HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP"}


def named_in(pattern, site):
    """Returns the headers that a site of nginx/ passes unchanged."""
    found = re.findall(pattern, (ROOT / "nginx" / site).read_text(), re.M)
    headers = {f"HTTP_{header.upper().replace('-', '_')}": f"HTTP_{variable.upper()}" for header, variable in found}
    assert all(header == variable for header, variable in headers.items())
    return set(headers)


def test_nginx_passes_exactly_the_headers_that_the_source_reads():
    read = set()
    for path in [*(ROOT / "src/netapi").glob("*.[ch]*"), *(ROOT / "src/engine").glob("*.[ch]*")]:
        read |= set(re.findall(r'"(HTTP_[A-Z_]+[A-Z])"', path.read_text()))
    read -= NOT_IN_REQUESTS | SET_BY_PROXIES  # only hooks read headers such as X-Forwarded-For
    assert named_in(r"^ *fastcgi_param HTTP_(\w+) +\$http_(\w+) +if_not_empty;$", "rest_fcgi") == read
    proxied = named_in(r"^ *proxy_set_header ([\w-]+) +\$http_(\w+);$", "rest_fcgi-http")
    assert proxied - {"HTTP_CONTENT_TYPE"} == read - {"HTTP_CONNECTION", "HTTP_UPGRADE"}


class Wiretap:
    """Listens in place of rest_fcgi and keeps the received FastCGI records."""

    def __init__(self, path):
        self.address, self.heard = str(path), []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            connection, _ = self._listener.accept()
            with connection:
                heard = b""
                while bytes([1, 4, 0, 1, 0, 0]) not in heard and (part := connection.recv(1 << 16)):
                    heard += part
                self.heard.append(heard)


@pytest.mark.parametrize("sample, prefix", [("unix", ""), ("prefix", "/api")])
def test_cve_2016_5385_nginx_passes_unknown_headers_to_hooks_only_and_proxy_to_no_path(directory, front, sample, prefix):
    tap = Wiretap(directory / "tap.sock")
    api = front(tap, sample=sample)
    sent = {"X-Strange": "one", "X-Forwarded-For": "203.0.113.9", "Proxy": "two", "X-Auth-Token": "three"}
    paths = {"/": False, "/minions": False, "/events": False, "/hook": True, "/hook/a/b": True, "/hook/of/events": True}
    for path, is_hook in paths.items():
        assert api.request(path=prefix + path, body="{}", headers=sent).status == 502
        (heard,) = tap.heard
        tap.heard.clear()
        assert heard.count(b"HTTP_X_AUTH_TOKENthree") == 1, path
        assert (b"HTTP_X_STRANGEone" in heard) == (b"203.0.113.9" in heard) == is_hook, path
        assert b"HTTP_PROXY" not in heard, path
