# SPDX-License-Identifier: MIT
"""rest_cherrypy behind each configuration of nginx/ and apache/, at the root and below a path."""

import http.cookies
import json

import pytest

from support import apache as apaches
from support.apache import OVER_APACHE
from support.api import CRED, JSON
from support.nginx import OVER_NGINX
from support.process import free_port, wait_until
from support.streams import Sse, WebSocket, about, until

CLAIMED = "203.0.113.9"  # the address in forged headers
NO_EVENTS = "Apache's mod_fcgid cannot send event streams"
NO_SOCKETS = "WebSockets cannot be sent over FastCGI."


def serving(port, prefix):
    """Returns the configuration for rest_cherrypy over FastCGI, and over HTTP if `port` is set."""
    own_port = {"port": port, "host": "127.0.0.1", "disable_ssl": True, "root_prefix": prefix or "/"}
    own = {"netapi": ["rest_cherrypy"], "trusted_proxies": ["127.0.0.1"], "max_streams": 2, "metrics": {"on_api": True}}
    rules = {"file": {CRED["username"]: [".*", "@runner", "@wheel", "@jobs", "@metrics"]}}
    return {"rest_fcgi": own, "rest_cherrypy": own_port if port else {}, "external_auth": rules}


@pytest.fixture
def over_apache(directory, start, keep):
    """Starts Apache with a configuration of apache/, and rest_fcgi behind Apache."""

    def starter(sample, prefix):
        home, mount = directory / "apache", f"{prefix}/"
        if sample == "fcgid":
            return keep(apaches.Fcgid(home, serving(None, prefix), mount=mount, tls=True))
        over_http, port = sample == "http", free_port()
        changes = serving(port, prefix if over_http else "")
        if apaches.AS_USER:
            changes["rest_fcgi"]["socket_group"] = apaches.USER
        daemon = start(changes, tcp="tcp" in sample)
        return keep(apaches.Proxying(home, daemon, port if over_http else None, port, mount=mount, tls=True))

    return starter


class Client:
    def __init__(self, api, prefix=""):
        self.api, self.prefix, self.origin = api, prefix, api.url

    def request(self, method, path, headers=None, **options):
        return self.api.request(method, self.prefix + path, headers=headers or {}, **options)


def session_of(client):
    """Logs in. Returns the headers of a browser with the cookie, and of a client with the token."""
    claimed = {"X-Forwarded-For": CLAIMED, "Forwarded": f"for={CLAIMED}", "X-Real-IP": CLAIMED, "Remote-Addr": CLAIMED}
    reply = client.request("POST", "/login", {**JSON, **claimed}, body=json.dumps(CRED))
    assert reply.status == 200, reply
    cookie = http.cookies.SimpleCookie(reply.headers["set-cookie"])["session_id"]
    assert cookie["path"] == (client.prefix or "/")
    assert bool(cookie["secure"]) == bool(client.api.ca)
    return {"Cookie": f"session_id={cookie.value}"}, {"X-Auth-Token": reply.headers["x-auth-token"]}


def reads(client, cookie, token):
    reply = client.request("GET", "/minions", {**cookie, "Accept": "application/x-yaml"})
    assert (reply.status, reply.headers["content-type"]) == (200, "application/x-yaml")
    page = client.request("GET", "/", {"Accept": "text/html"})
    assert page.headers["content-type"] == "text/html;charset=utf-8" and "content-security-policy" in page.headers
    head = client.request("HEAD", "/minions/ms-0", token)
    assert (head.status, head.text) == (200, "") and head.headers["allow"] == "GET, HEAD, POST"


def reads_metrics(client):
    headers = {"Authorization": f"Bearer {session_of(client)[1]['X-Auth-Token']}"}
    assert "rest_fcgi_build_info" in client.request("GET", "/metrics", headers).text
    assert client.request("GET", "/metrics").status == 401


def runs(client, token):
    body = json.dumps([{"client": "local", "tgt": "*", "fun": "test.echo", "arg": ["x" * 100000]}]).encode()
    pieces = (body[at : at + 30000] for at in range(0, len(body), 30000))
    reply = client.request("POST", "/", {**JSON, **token}, body=pieces, chunked=True)
    assert reply.status == 200 and len(reply.ret[0]) == 3
    job = client.request("POST", "/minions", {**JSON, **token}, body='[{"tgt": "*", "fun": "test.ping"}]')
    assert job.status == 202 and job.json["_links"]["jobs"][0]["href"].startswith(f"{client.prefix}/jobs/2")


def streams(client, token):
    """Checks that events arrive at once on max_streams streams, and that a closed client releases its stream."""
    path, session = f"{client.prefix}/ws/{token['X-Auth-Token']}", token["X-Auth-Token"]
    job = json.dumps({"client": "local", "tgt": "ms-0", "fun": "test.true"})
    assert WebSocket(client.api, path, upgrade={}).status == 426
    socket = WebSocket(client.api, path, headers={"Origin": client.origin})
    assert socket.status == 101
    assert socket.ready().text() == "server received message"
    events = Sse(client.api, session, f"{client.prefix}/events")
    client.request("POST", "/", {**JSON, **token}, body=job)
    first = until(events, about("test.true"))[-1]["tag"]
    assert first.endswith("/new")
    assert first in socket.texts_until("test.true")[-1]
    socket.close()
    events.close()
    again = []

    def is_room():
        client.request("POST", "/", {**JSON, **token}, body=job)  # Apache notices a closed client when it writes
        again.append(Sse(client.api, session, f"{client.prefix}/events", {"Last-Event-ID": events.ids[-1]}))
        return again[-1].status == 200

    for _ in range(4):
        wait_until(is_room, "a stream is free")
        assert until(again[-1], about("test.true"))[-1]["tag"].endswith("/ret/ms-0")
        again[-1].close()


def refuses(client, cookie):
    own, foreign = {"Origin": client.origin, **cookie}, {"Origin": "https://elsewhere.example.org", **cookie}
    assert client.request("GET", "/jobs", own).status == 200
    assert client.request("GET", "/jobs", foreign).status == 403
    for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403)):
        assert client.request("GET", "/jobs", {"Sec-Fetch-Site": site, **cookie}).status == status
    missing = client.request("GET", "/no%20such?a=b", cookie)
    assert (missing.status, missing.json["status"]) == (404, 404)
    assert client.request("PUT", "/minions").status == 401
    put = client.request("PUT", "/minions", {"Origin": client.origin, **cookie})
    assert (put.status, put.json["status"], put.headers["allow"]) == (405, 405, "GET, HEAD, POST")
    asked = {"Origin": "https://gui", "Access-Control-Request-Method": "POST"}
    preflight = client.request("OPTIONS", "/minions", asked)
    assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (200, "GET, POST")


def refuses_streams(client, token):
    socket = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": WebSocket.KEY}
    for path, headers, words in (("/events", {}, NO_EVENTS), ("/ws", socket, NO_SOCKETS)):
        refused = client.request("GET", path, {**token, **headers})
        assert (refused.status, refused.json["status"]) == (503, 503) and refused.ret.startswith(words), refused
    assert client.request("GET", "/events").status == 401


def walk(client, with_streams=True):
    cookie, token = session_of(client)
    reads(client, cookie, token)
    runs(client, token)
    (streams if with_streams else refuses_streams)(client, token)
    refuses(client, cookie)
    assert client.request("POST", "/logout", token).json == {"return": "Your token has been cleared"}
    reply = client.request("GET", "/minions", token)
    assert (reply.status, reply.headers["www-authenticate"], reply.json["status"]) == (401, "Session", 401)


@pytest.mark.parametrize("sample", OVER_NGINX)
def test_the_rest_interface_works_over_each_nginx_sample(start, front, sample):
    prefix = "/api" if sample == "prefix" else ""
    port = free_port()
    daemon = start(serving(port, ""), tcp="tcp" in sample)
    nginx = front(daemon, sample=sample, http_port=port)
    walk(Client(nginx, prefix))
    reads_metrics(Client(nginx, prefix))
    assert "fun=login" in daemon.log() and CLAIMED not in daemon.log()
    if prefix:
        assert nginx.request("GET", prefix).headers["location"].endswith("/api/")
        assert nginx.request("GET", "/apis").json == {"return": "404: Not Found"}
    assert "[error]" not in nginx.error_log()
    assert "/ws" not in (nginx.directory / "access.log").read_text()


@pytest.mark.parametrize("sample", OVER_APACHE)
def test_the_rest_interface_works_below_a_path_with_tls_over_each_apache_sample(over_apache, sample):
    prefix = "/api"
    apache = over_apache(sample, prefix)
    walk(Client(apache, prefix), sample != "fcgid")
    if sample != "http":  # a port has /metrics outside of `root_prefix`
        reads_metrics(Client(apache, prefix))
    assert apache.request("GET", prefix).headers["location"].endswith("/api/")
    assert apache.request("GET", "/apis").status == 404


@pytest.fixture(params=["nginx", *OVER_APACHE])
def without_port(request, start, front, over_apache):
    """A web server in front of a rest_fcgi that has no HTTP port."""
    if request.param == "nginx":
        return front(start({"rest_fcgi": {"netapi": ["rest_cherrypy"]}}))
    return over_apache(request.param, "")


TOKEN = "0123456789abcdef" * 4


def test_no_log_of_a_web_server_has_the_token_of_a_websocket(without_port):
    api = without_port
    for path in (f"/ws/{TOKEN}", f"/all_events/{TOKEN}", f"/formatted_events/{TOKEN}", f"/ws/{TOKEN}?format_events"):
        assert WebSocket(api, path, headers={"Origin": api.url}).status != 101
    assert api.request("GET", "/logged").status == 404
    logs = [path for path in api.directory.glob("*.log") if path.name != "rest_fcgi.log"]
    wait_until(lambda: any("/logged" in path.read_text() for path in logs), "the last request is logged")
    assert not any(TOKEN in path.read_text() for path in logs)
