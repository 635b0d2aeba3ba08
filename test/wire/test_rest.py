# SPDX-License-Identifier: MIT
"""rest_cherrypy and rest_tornado, over FastCGI behind nginx and over the HTTP port."""

import concurrent.futures
import json
import signal
import socket

import pytest

from support.api import CRED, JSON, Api
from support.daemon import merge
from support.process import TIMEOUT, free_port, wait_until
from support.rest import WAYS_IN, api_of, login, running, serving, session


@pytest.fixture(scope="module")
def rest():
    with running() as started:
        yield started


@pytest.fixture(params=WAYS_IN)
def api(rest, request):
    return rest.ways[request.param]


@pytest.fixture
def token(api):
    return session(login(api))


def get(api, path, headers=None):
    return api.request("GET", path, headers=headers or {})


def post(api, path, value, headers):
    return api.request("POST", path, json.dumps(value), {**JSON, **headers})


def test_every_reply_has_the_common_headers(api, token):
    requests = (("GET", "/", {}), ("GET", "/jobs", {}), ("GET", "/jobs", token), ("GET", "/nosuch", {}), ("PUT", "/run", {}))
    for method, path, headers in requests:
        reply = api.request(method, path, headers=headers)
        assert reply.headers["access-control-allow-origin"] == "*" and "access-control-allow-credentials" not in reply.headers
        assert reply.headers["access-control-expose-headers"] == "Idempotency-Replayed, X-Auth-Token"
        assert reply.headers["vary"] == "Accept-Encoding, Accept, Origin" and reply.headers["date"]
        assert reply.headers["content-type"] == "application/json" and reply.spaced_as_python
        assert "CherryPy" not in reply.headers["server"] and "set-cookie" not in reply.headers
        assert reply.headers.get("allow") == {"/nosuch": None}.get(path, "GET, HEAD, POST")


def test_salt_issue_56168_a_token_from_the_path_token_is_a_session(api):
    (made,) = post(api, "/token", CRED, {}).json
    assert set(made) == {"start", "expire", "name", "eauth", "token"} and made["name"] == "saltdev"
    assert get(api, "/jobs", {"X-Auth-Token": made["token"]}).status == 200
    assert post(api, "/run", [{"client": "local", "tgt": "ms-0", "fun": "test.ping", "token": made["token"]}], {}).status == 200


def test_requests_of_one_session_run_in_parallel(api, token, tmp_path):
    wait_for_four = f"touch {tmp_path}/$$; while [ $(ls {tmp_path} | wc -l) -lt 4 ]; do sleep 0.01; done"
    shell = {"python_shell": True, "timeout": TIMEOUT}
    low = {"client": "local", "tgt": "ms-0", "fun": "cmd.run", "arg": [wait_for_four], "kwarg": shell}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: post(api, "/", [low], token), range(4)))
    assert [reply.ret for reply in replies] == [[{"ms-0": ""}]] * 4


def test_the_java_client_logs_in_calls_and_logs_out(api):
    """The requests are those of SUSE's Java library salt-netapi-client."""
    java = {"Accept": "application/json", "Content-Type": "application/json; charset=UTF-8"}

    def send(path, value, **headers):
        return api.request("POST", path, value if isinstance(value, str) else json.dumps(value), {**java, **headers})

    (about,) = send("/login", {"username": "saltdev", "password": "x", "eauth": "file"}).ret
    assert all(isinstance(perm, str) for perm in about["perms"])
    token = {"X-Auth-Token": about["token"]}
    call = {"client": "local", "tgt": ["ms-0", "ms-1"], "tgt_type": "list", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}
    call |= {"metadata": {"who": "java"}, "timeout": 10, "gather_job_timeout": 5}
    assert [ret["args"] for ret in send("/", [call], **token).ret[0].values()] == [["a"]] * 2
    job = send("/", [{**call, "client": "local_async", "batch": "1"}], **token).ret[0]
    assert len(job["jid"]) == 20 and set(job["minions"]) == {"ms-0", "ms-1"}
    finger = send("/", [{"client": "wheel", "fun": "key.finger", "match": "ms-0"}], **token).ret[0]
    assert finger["data"]["success"] and set(finger["data"]["return"]["minions"]) == {"ms-0"}
    assert send("/logout", "", **token).ret == "Your token has been cleared"
    assert send("/", [call], **token).status == 401


def test_a_reload_keeps_the_application_of_each_port(start):
    closed, tornado = serving(authorized_ips=["192.0.2.1"]), serving("rest_tornado")
    changes = merge(merge(closed, tornado), {"rest_fcgi": {"netapi": ["rest_cherrypy", "rest_tornado"]}})
    daemon = start(changes)
    ports = [api_of(changes, module) for module in ("rest_cherrypy", "rest_tornado")]
    assert [get(port, "/").status for port in ports] == [403, 200]

    def reload(*modules, log):
        daemon.configure({**changes, "rest_fcgi": {"netapi": list(modules)}})
        before = daemon.log().count(log)
        daemon.kill(signal.SIGHUP)
        wait_until(lambda: daemon.log().count(log) > before, f"the log has {log!r}")
        assert [get(port, "/").status for port in ports] == [403, 200]

    reload("rest_tornado", log="netapi: found no rest_cherrypy")
    reload("rest_tornado", "rest_wsgi", "rest_cherrypy", log="configuration reread")


def test_rest_tornado_listens_on_all_addresses_by_default(start):
    port = free_port()
    start({"rest_fcgi": {"netapi": ["rest_tornado"]}, "rest_tornado": {"port": port, "disable_ssl": True}})
    for address in ["127.0.0.1"] + ["::1"] * socket.has_ipv6:
        assert get(Api(address, port), "/").status == 200


def test_the_access_log_has_one_line_per_request_and_follows_a_rotation(start, front, directory):
    log = directory / "access"
    changes = serving(log_access_file=str(log))
    daemon = start(changes)
    for api in (api_of(changes), front(daemon)):
        reply = get(api, "/minions?a=b", {"User-Agent": 'a"b', "Referer": "https://gui/"})
    over_http, over_fastcgi = (line.split("] ", 1)[1] for line in log.read_text().splitlines())
    assert over_http == over_fastcgi == f'"GET /minions?a=b HTTP/1.1" 401 {len(reply.text)} "https://gui/" "a\\"b"'
    log.rename(log.with_suffix(".1"))
    daemon.kill(signal.SIGHUP)
    daemon.await_log("configuration reread")
    get(api, "/second")
    assert len(log.read_text().splitlines()) == 1


def test_a_large_static_file_is_served_whole(start, front, directory):
    content = "".join(f"line {number}\n" for number in range(100_000))
    (directory / "static").mkdir()
    (directory / "static/big.txt").write_text(content)
    changes = serving(static=str(directory / "static"))
    daemon = start(changes)
    for api in (front(daemon), api_of(changes)):
        whole = get(api, "/static/big.txt")
        assert (whole.status, whole.headers["content-type"]) == (200, "text/plain;charset=utf-8") and whole.text == content
        assert whole.headers["content-length"] == str(len(content))
