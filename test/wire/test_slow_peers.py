# SPDX-License-Identifier: MIT
"""Slow clients do not delay another client. 500 clients send slowly, read slowly or disconnect.

The test compares the request rate of the other client with and without slow clients.
On an idle machine (REST_FCGI_QUIET) the rate falls by at most a tenth."""

import json
import re
import statistics
import time

import pytest
from support import apache as apaches
from support.api import CRED, JSON, Api, local
from support.daemon import QUIET, ROOT
from support.nginx import certificate
from support.process import free_port
from support.slow_peers import slow_clients

TURNS, EACH = (10, 100) if QUIET else (4, 10)
BODY = json.dumps([local("test.ping", tgt="ms-0")])


OVER_FASTCGI = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}}


def own_port(port, **more):
    return {**OVER_FASTCGI, "rest_cherrypy": {"host": "127.0.0.1", "port": port, **more}}


class FrontEnds:
    """Starts a responder behind each kind of front end. Each method returns an Api."""

    def __init__(self, directory, start, front, keep):
        self.directory, self._start, self._front, self._keep = directory, start, front, keep

    def http(self):
        port = free_port()
        self._start(own_port(port, disable_ssl=True))
        return Api("127.0.0.1", port)

    def https(self):
        port = free_port()
        certificate(self.directory)
        self._start(own_port(port, ssl_crt=str(self.directory / "cert.pem"), ssl_key=str(self.directory / "key.pem")))
        return Api("127.0.0.1", port, ca=self.directory / "cert.pem")

    def nginx(self):
        return self._front(self._start(OVER_FASTCGI))

    def nginx_over_http(self):
        port = free_port()
        return self._front(self._start(own_port(port, disable_ssl=True)), sample="proxy_tls.conf", http_port=port)

    def apache(self):
        daemon = self._start({"rest_fcgi": {**OVER_FASTCGI["rest_fcgi"], "socket_group": apaches.USER}})
        return self._keep(apaches.Proxying(self.directory / "apache", daemon, more=APACHE_LIMITS))

    def mod_fcgid(self):
        return self._keep(apaches.Fcgid(self.directory / "apache", OVER_FASTCGI, more=APACHE_LIMITS))


(APACHE_LIMITS,) = re.findall(r"```apache\n(.*?)```", (ROOT / "apache/README.md").read_text(), re.DOTALL)
NAMES = ["http", "https", "nginx", "nginx_over_http", "apache", "mod_fcgid"] if QUIET else ["http", "https", "nginx", "mod_fcgid"]
# mod_fcgid has 64 processes with one request each. A slow reader occupies a process while a large reply is sent.
FEWER = {"mod_fcgid": {"heads": 230, "bodies": 230, "readers": 30, "hanging_up": 10}}


@pytest.fixture
def front_ends(directory, start, front, keep):
    return FrontEnds(directory, start, front, keep)


def turn(api):
    """Returns the number of answered requests a second."""
    began = time.monotonic()
    for _ in range(EACH):
        reply = api.request("POST", "/run", BODY, JSON)
        assert (reply.status, reply.ret) == (200, [{"ms-0": True}])
    return EACH / (time.monotonic() - began)


def turns(api):
    return (statistics.median if QUIET else max)([turn(api) for _ in range(TURNS)])


@pytest.mark.parametrize("name", NAMES)
def test_slow_clients_do_not_slow_other_clients(front_ends, name, capsys):
    api = getattr(front_ends, name)()
    turn(api)
    without = turns(api)
    with slow_clients(api.port, CRED, tls=bool(api.ca), **FEWER.get(name, {})):
        beside = turns(api)
    after = turns(api)
    rate = beside / statistics.median([without, after])
    with capsys.disabled():
        print(f"\n  {name}: {without:.0f} a second, beside 500 slow clients {beside:.0f}, after them {after:.0f}: {rate:.2f}")
    assert rate > 0.9 if QUIET else beside > min(1, without / 4)
