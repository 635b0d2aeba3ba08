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
from support.daemon import QUIET, ROOT, merge
from support.nginx import certificate
from support.rest import api_of, serving
from support.slow_peers import slow_clients

TURNS, EACH = (10, 100) if QUIET else (4, 10)
BODY = json.dumps([local("test.ping", tgt="ms-0")])
OVER_FASTCGI = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}}
(APACHE_LIMITS,) = re.findall(r"```apache\n(.*?)```", (ROOT / "apache/README.md").read_text(), re.DOTALL)
NAMES = ["http", "https", "nginx", "apache", "mod_fcgid"] if QUIET else ["http", "https", "nginx", "mod_fcgid"]
# mod_fcgid has 64 processes with one request each. A slow reader occupies a process while a large reply is sent.
FEWER = {"mod_fcgid": {"heads": 230, "bodies": 230, "readers": 30, "hanging_up": 10}}


@pytest.fixture(params=NAMES)
def front_end(request, directory, start, front, keep):
    """Starts rest_fcgi with a port or behind a web server. Returns the name of the front end and the Api."""
    name, home = request.param, directory / "apache"
    if name in ("http", "https"):
        certificate(directory)
        tls = {"disable_ssl": False, "ssl_crt": str(directory / "cert.pem"), "ssl_key": str(directory / "key.pem")}
        served = serving(**(tls if name == "https" else {}))
        start(served)
        return name, Api("127.0.0.1", api_of(served).port, ca=directory / "cert.pem" if name == "https" else None)
    if name == "nginx":
        return name, front(start(OVER_FASTCGI))
    if name == "mod_fcgid":
        return name, keep(apaches.Fcgid(home, OVER_FASTCGI, more=APACHE_LIMITS))
    daemon = start(merge(OVER_FASTCGI, {"rest_fcgi": {"socket_group": apaches.USER}}))
    return name, keep(apaches.Proxying(home, daemon, more=APACHE_LIMITS))


def turn(api):
    """Returns the number of answered requests a second."""
    began = time.monotonic()
    for _ in range(EACH):
        reply = api.request("POST", "/run", BODY, JSON)
        assert (reply.status, reply.ret) == (200, [{"ms-0": True}])
    return EACH / (time.monotonic() - began)


def turns(api):
    return (statistics.median if QUIET else max)([turn(api) for _ in range(TURNS)])


def test_slow_clients_do_not_slow_other_clients(front_end, capsys):
    name, api = front_end
    turn(api)
    without = turns(api)
    with slow_clients(api.port, CRED, tls=bool(api.ca), **FEWER.get(name, {})):
        beside = turns(api)
    after = turns(api)
    rate = beside / statistics.median([without, after])
    with capsys.disabled():
        print(f"\n  {name}: {without:.0f} a second, beside 500 slow clients {beside:.0f}, after them {after:.0f}: {rate:.2f}")
    assert rate > 0.9 if QUIET else beside > min(1, without / 4)
