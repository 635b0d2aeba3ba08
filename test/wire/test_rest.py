# SPDX-License-Identifier: MIT
"""Salt's REST interface as clients of salt-api use it: over FastCGI behind nginx, and over the responder's own HTTP port."""

import hashlib
import http.client
import http.cookies
import json
import signal

import pytest

from support.api import CRED, JSON, Api, local
from support.daemon import file_eauth, merge, run
from support.nginx import certificate
from support.process import connect, free_port, wait_until
from support.rest import WAYS_IN, api_of

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PONG = {"ms-0": True, "ms-1": True, "ms-2": True}
LIMITED = {"external_auth": {"file": {"fred": [{"ms-0": ["test.ping"]}]}}}


def serving(*modules, **sections):
    """Changes of the configuration that serve these modules; each has a port, unless `sections` say otherwise."""
    ports = {module: {"port": free_port(), "disable_ssl": True} for module in modules if module != "rest_wsgi"}
    return {"rest_fcgi": {"netapi": list(modules)}, **ports, **LIMITED, **sections}


@pytest.fixture(params=WAYS_IN)
def rest(request, start, front):
    """rest_cherrypy by one of its two ways in."""
    changes = serving("rest_cherrypy")
    daemon = start(changes)
    if request.param == "fastcgi":
        return front(daemon)
    return api_of(changes)


@pytest.fixture
def tornado(start):
    changes = serving("rest_tornado")
    start(changes)
    return api_of(changes, "rest_tornado")


def login(api, **credentials):
    reply = api.request("POST", "/login", json.dumps({**CRED, **credentials}), JSON)
    assert reply.status == 200, reply
    return reply


def session(api, **credentials):
    return {"X-Auth-Token": login(api, **credentials).ret[0]["token"]}


def get(api, path, headers=None):
    return api.request("GET", path, headers=headers or {})


def test_a_login_gives_a_session_that_a_logout_ends(rest):
    reply = login(rest)
    (about,) = reply.ret
    assert about["user"] == "saltdev" and about["eauth"] == "file" and about["perms"] == [".*", "@jobs", "@runner", "@wheel"]
    assert reply.headers["x-auth-token"] == about["token"] and about["expire"] > about["start"]
    token = {"X-Auth-Token": about["token"]}
    assert get(rest, "/minions/ms-0", token).ret[0]["ms-0"]["id"] == "ms-0"
    assert rest.request("POST", "/logout", headers=token).json == {"return": "Your token has been cleared"}
    assert get(rest, "/minions/ms-0", token).status == 401
    assert rest.request("POST", "/", json.dumps([local("test.ping")]), {**JSON, **token}).status == 401


def test_a_cookie_is_a_session_and_is_kept_from_scripts(rest):
    cookie = http.cookies.SimpleCookie(login(rest).headers["set-cookie"])["session_id"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == "/"
    jar = {"Cookie": f"session_id={cookie.value}"}
    assert get(rest, "/jobs", jar).status == 200
    foreign = {**jar, "Origin": "https://elsewhere.example.org", **JSON}
    assert rest.request("POST", "/", json.dumps([local("test.ping")]), foreign).status == 403


def test_chunks_run_and_their_job_is_found(rest):
    token = session(rest)
    body = json.dumps([{"client": "local", "tgt": "*", "fun": "test.ping"}])
    assert rest.request("POST", "/", body, {**JSON, **token}).ret == [PONG]
    reply = rest.request("POST", "/minions", json.dumps([{"tgt": "*", "fun": "test.ping"}]), {**JSON, **token})
    ((link,),) = [reply.json["_links"]["jobs"]]
    assert reply.status == 202 and link["href"] == f"/jobs/{reply.ret[0]['jid']}"
    job = get(rest, link["href"], token).json
    assert set(job["info"][0]["Minions"]) == set(PONG)
    assert reply.ret[0]["jid"] in get(rest, "/jobs", token).ret[0]


def test_a_minion_is_found_by_its_id_before_that_is_a_pattern(start):
    minions = {"rest_fcgi": {"embedded": {"minions": {"ms-[12]": {}}}}}
    changes = merge(serving("rest_cherrypy"), minions)
    start(changes)
    api = api_of(changes)
    token = session(api)
    assert set(get(api, "/minions/ms-[12]", token).ret[0]) == {"ms-[12]"}
    assert set(get(api, "/minions/ms-[1]", token).ret[0]) == {"ms-1"}
    assert get(api, "/minions/ms-[3]", token).ret == [{}]


def test_scripts_that_log_in_with_each_request_do_so(rest):
    assert rest.request("POST", "/run", json.dumps([local("test.ping")]), JSON).ret == [PONG]
    form = "username=saltdev&password=x&eauth=file&client=local&tgt=ms-0&fun=test.echo&arg={a: [1, 2]}"
    assert rest.request("POST", "/run", form, FORM).ret == [{"ms-0": {"a": [1, 2]}}]
    (token,) = rest.request("POST", "/token", json.dumps(CRED), JSON).json
    chunk = {"client": "runner", "fun": "jobs.list_jobs", "token": token["token"]}
    assert rest.request("POST", "/run", json.dumps([chunk]), JSON).status == 200


def test_yaml_goes_in_and_out(rest):
    lines = [f"- {CRED!r}".replace("{", "{client: local, tgt: ms-0, fun: test.echo, arg: [017], ").replace("'", "")]
    reply = rest.request("POST", "/run", "\n".join(lines), {"Content-Type": "application/x-yaml", "Accept": "application/x-yaml"})
    assert reply.headers["content-type"] == "application/x-yaml" and reply.text.split() == ["return:", "-", "ms-0:", "17"]


def test_who_may_less_gets_less(rest):
    fred = session(rest, username="fred")
    assert rest.request("POST", "/", json.dumps([local("test.ping", "ms-0")]), {**JSON, **fred}).ret == [{"ms-0": True}]
    assert rest.request("POST", "/", json.dumps([local("test.ping", "*")]), {**JSON, **fred}).status == 401
    assert get(rest, "/jobs", fred).status == get(rest, "/keys", fred).status == 401


def test_a_hook_is_taken(rest):
    assert rest.request("POST", "/hook/deploy/done", '{"a": 1}', {**JSON, **session(rest)}).json == {"success": True}
    assert rest.request("POST", "/hook/deploy/done", "{}", JSON).status == 401


def test_salt_issue_28378_another_origin_may_ask_what_is_allowed(rest):
    for path in ("/", "/login", "/minions", "/jobs", "/nosuch"):
        asked = {"Origin": "https://gui", "Access-Control-Request-Method": "POST"}
        reply = rest.request("OPTIONS", path, headers=asked)
        assert reply.status == 200 and reply.headers["access-control-allow-methods"] == "GET, POST"
        assert "access-control-allow-credentials" not in reply.headers


def test_sessions_outlive_a_restart(start, directory):
    changes = serving("rest_cherrypy", cachedir=str(directory / "cache"))
    daemon = start(changes)
    api = api_of(changes)
    kept, ended = session(api), session(api)
    assert api.request("POST", "/logout", headers=ended).status == 200
    assert daemon.stop() == 0
    start(changes)
    assert get(api, "/jobs", kept).status == 200
    assert get(api, "/jobs", ended).status == 401


def test_rest_tornado_speaks_its_dialect(tornado):
    assert get(tornado, "/login").json == {"status": "401 Unauthorized", "return": "Please log in"}
    token = session(tornado)
    body = json.dumps([{"client": "local", "tgt": "*", "fun": "test.ping"}])
    assert tornado.request("POST", "/", body, {**JSON, **token}).ret == [PONG]
    assert get(tornado, "/minions/nosuch", token).status == 404
    assert get(tornado, "/jobs").status == 401


def test_a_mount_table_says_who_answers_where(start, front):
    mounts = {"/": "rest_wsgi", "/api": "rest_cherrypy"}
    changes = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"], "mount": mounts}}
    nginx = front(start(changes))
    assert nginx.run(local("test.ping")) == [PONG]
    assert get(nginx, "/api/").ret == "Welcome"
    reply = nginx.request("POST", "/api/login", json.dumps(CRED), JSON)
    assert http.cookies.SimpleCookie(reply.headers["set-cookie"])["session_id"]["path"] == "/api"
    token = {"X-Auth-Token": reply.ret[0]["token"]}
    body = json.dumps([{"tgt": "*", "fun": "test.ping"}])
    links = nginx.request("POST", "/api/minions", body, {**JSON, **token}).json["_links"]
    assert links["jobs"][0]["href"].startswith("/api/jobs/")
    assert get(nginx, "/apis").status == 404


def test_the_port_speaks_tls(start, directory):
    certificate(directory)
    section = {"port": free_port(), "host": "127.0.0.1", "ssl_crt": str(directory / "cert.pem"), "ssl_key": str(directory / "key.pem")}
    start(serving("rest_cherrypy", rest_cherrypy=section))
    api = Api("localhost", section["port"], ca=directory / "cert.pem")
    assert "; Secure" in login(api).headers["set-cookie"]
    with connect(("127.0.0.1", section["port"])) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"200" not in plain.recv(100)


def test_what_cannot_listen_does_not_start(directory, start):
    taken = serving("rest_cherrypy")
    start(taken)

    def refused(section):
        config = directory / "refused"
        config.write_text(json.dumps({"rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": section}))
        done = run("--config", str(config))
        assert done.returncode == 78
        return done.stderr

    assert str(taken["rest_cherrypy"]["port"]) in refused(taken["rest_cherrypy"])
    assert "ssl_crt and ssl_key are missing" in refused({"port": free_port()})
    missing = str(directory / "nosuch.pem")
    assert missing in refused({"port": free_port(), "ssl_crt": missing, "ssl_key": missing})


def test_a_reload_keeps_each_port_for_its_module(start):
    closed = {"port": free_port(), "disable_ssl": True, "authorized_ips": ["192.0.2.1"]}
    changes = serving("rest_cherrypy", "rest_tornado", rest_cherrypy=closed)
    daemon = start(changes)
    ports = [api_of(changes, module) for module in ("rest_cherrypy", "rest_tornado")]
    assert [get(port, "/").status for port in ports] == [403, 200]

    def reload(*modules, log):
        daemon.configure({**changes, "rest_fcgi": {"netapi": list(modules)}})
        before = daemon.log().count(log)
        daemon.kill(signal.SIGHUP)
        wait_until(lambda: daemon.log().count(log) > before, log)
        assert [get(port, "/").status for port in ports] == [403, 200]

    reload("rest_tornado", log="rest_cherrypy is not served any more, but has an open port")
    reload("rest_tornado", "rest_wsgi", "rest_cherrypy", log="configuration reread")


def test_nothing_secret_is_logged(start, directory):
    users = directory / "canary-users"
    users.write_text(f"saltdev:{hashlib.sha256(b'canary-password').hexdigest()}\n")
    changes = serving("rest_cherrypy", log_level="debug", external_auth={"file": {"^filename": str(users)}})
    daemon = start(changes)
    api = api_of(changes)
    token = session(api, password="canary-password")
    get(api, "/jobs", {**token, "Authorization": "Bearer canary-bearer", "Cookie": "session_id=canary-cookie"})
    api.request("POST", "/run", '[{"password": "canary-body"', JSON)
    log = daemon.log()
    assert "canary" not in log and token["X-Auth-Token"] not in log


def test_a_user_with_the_empty_rule_has_no_permissions_whatever_those_of_others_are(start, directory):
    rules = {"ann": [], "bob": ["test.ping"], "*": [".*"]}
    changes = serving("rest_cherrypy")
    start({**changes, "external_auth": {"file": file_eauth(directory, rules)}})
    api = api_of(changes)
    for user, status in (("ann", 401), ("bob", 200)):
        token = session(api, username=user)
        assert api.request("POST", "/hook/x", "{}", {**JSON, **token}).status == status
        assert get(api, "/stats", token).status == status


def test_pages_of_another_scheme_use_no_cookie_and_are_told_why(start):
    changes = serving("rest_cherrypy")
    start(changes)
    api = api_of(changes)
    jar = {"Cookie": f"session_id={session(api)['X-Auth-Token']}"}
    own = f"127.0.0.1:{changes['rest_cherrypy']['port']}"
    assert get(api, "/jobs", {**jar, "Origin": f"http://{own}", "Host": own}).status == 200
    reply = get(api, "/jobs", {**jar, "Origin": f"https://{own}", "Host": own})
    assert reply.status == 403 and all(part in reply.ret for part in (f"'https://{own}'", f"'http://{own}'", "Host", "cors_origin"))
