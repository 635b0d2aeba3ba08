# SPDX-License-Identifier: MIT
"""What holds for many URLs of the REST interface at once: headers, forms of replies, sessions, archives of keys. Row by row it is
in salt_engine/rest_rows.py."""

import concurrent.futures
import gzip
import http.cookies
import io
import json
import tarfile

import pytest

from support.api import CRED, JSON, local
from support.daemon import merge
from support.process import PATIENCE, wait_until
from support.rest import WAYS_IN, api_of, login, running, serving, session

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
YAML = {"Accept": "application/x-yaml"}


@pytest.fixture(scope="module")
def rest():
    with running() as one:
        yield one


@pytest.fixture(params=WAYS_IN)
def api(rest, request):
    return rest.ways[request.param]


@pytest.fixture
def token(api):
    return session(login(api))


def post(api, path, value, headers):
    return api.request("POST", path, json.dumps(value), {**JSON, **headers})


def test_every_answer_has_the_headers_of_all(api, token):
    asked = (("GET", "/", {}), ("GET", "/jobs", {}), ("GET", "/jobs", token), ("GET", "/nosuch", {}), ("PUT", "/run", {}))
    for method, path, headers in asked:
        reply = api.request(method, path, headers=headers)
        assert reply.headers["access-control-allow-origin"] == "*" and "access-control-allow-credentials" not in reply.headers
        assert reply.headers["access-control-expose-headers"] == "X-Auth-Token"
        assert reply.headers["vary"] == "Accept-Encoding, Accept, Origin" and reply.headers["date"]
        assert reply.headers["content-type"] == "application/json" and reply.spaced_as_python
        assert "CherryPy" not in reply.headers["server"] and "set-cookie" not in reply.headers
        assert reply.headers.get("allow") == {"/nosuch": None}.get(path, "GET, HEAD, POST")


def test_replies_say_who_may_keep_them(api, token):
    for path in ("/minions/ms-0", "/jobs", "/stats"):
        assert api.request("GET", path, headers=token).headers["cache-control"] == "private"
    for path in ("/login", "/run", "/token"):
        assert api.request("GET", path).headers["cache-control"] == "no-store"
    assert api.request("GET", "/keys", headers=token).headers["cache-control"] == "no-store"
    assert "cache-control" not in api.request("GET", "/").headers


def test_head_has_the_headers_of_get_and_no_body(api, token):
    for path in ("/", "/login", "/jobs", "/minions/ms-0", "/keys", "/nosuch"):
        get, head = (api.request(method, path, headers=token) for method in ("GET", "HEAD"))
        assert head.status == get.status and head.text == ""
        framing = {"content-length", "transfer-encoding"}
        assert set(head.headers) - framing == set(get.headers) - framing


def test_errors_come_in_the_form_that_is_wanted(api):
    assert api.request("GET", "/nosuch").json == {"status": 404, "return": "The path '/nosuch' was not found."}
    yaml = api.request("GET", "/jobs", headers=YAML)
    assert yaml.status == 401 and "return: No permission -- see authorization schemes" in yaml.text and "status: 401" in yaml.text
    page = api.request("GET", "/nosuch", headers={"Accept": "text/html"})
    assert page.status == 404 and page.headers["content-type"].startswith("text/html") and "/nosuch" in page.text
    odd = api.request("GET", "/<b>", headers={"Accept": "text/html"})
    assert odd.status == 404 and "<b>" not in odd.text


def test_a_login_whose_answer_is_not_wanted_is_none(api):
    reply = post(api, "/login", CRED, {"Accept": "text/html"})
    assert reply.status == 406 and not {"x-auth-token", "set-cookie"} & set(reply.headers)


def test_large_replies_are_packed_and_small_ones_are_not(api, token):
    packed = api.connection()
    packed.request("GET", "/minions", headers={**token, "Accept-Encoding": "gzip"})
    reply = packed.getresponse()
    assert reply.getheader("Content-Encoding") == "gzip" and "ms-0" in json.loads(gzip.decompress(reply.read()))["return"][0]
    packed.close()
    assert "content-encoding" not in api.request("GET", "/", headers={"Accept-Encoding": "gzip"}).headers


def test_yaml_says_things_twice_rather_than_by_reference(api, token):
    same = {"a": [1], "b": [1], "date": "2026-01-01", "jid": "20260101000000000000"}
    reply = post(api, "/", [{"client": "local", "tgt": "ms-0", "fun": "test.echo", "arg": [same]}], {**token, **YAML})
    assert "&" not in reply.text and "*" not in reply.text and "'20260101000000000000'" in reply.text


def test_a_body_in_chunks_is_read(api):
    reply = api.request("POST", "/run", iter([b"[", json.dumps(local("test.ping", "ms-0")).encode(), b"]"]), JSON, chunked=True)
    assert reply.ret == [{"ms-0": True}]


def test_the_header_counts_before_the_cookie(api):
    good = login(api)
    for header, cookie, status in ((good, "0" * 64, 200), ("0" * 64, good, 401), ("", good, 200)):
        headers = {"X-Auth-Token": header, "Cookie": f"other=1; session_id={cookie}"}
        assert api.request("GET", "/jobs", headers=headers).status == status
    assert login(api) != good
    chosen = {"Cookie": "session_id=" + "1" * 64}
    reply = post(api, "/login", CRED, chosen)
    assert reply.ret[0]["token"] != "1" * 64 and api.request("GET", "/jobs", headers=chosen).status == 401


def test_salt_issue_56168_a_token_of_the_url_token_is_a_session(api):
    (made,) = post(api, "/token", CRED, {}).json
    assert set(made) == {"start", "expire", "name", "eauth", "token"} and made["name"] == "saltdev"
    assert api.request("GET", "/jobs", headers={"X-Auth-Token": made["token"]}).status == 200
    assert post(api, "/run", [{"client": "local", "tgt": "ms-0", "fun": "test.ping", "token": made["token"]}], {}).status == 200


def test_requests_of_a_session_run_side_by_side(api, token, tmp_path):
    all_wait = f"touch {tmp_path}/$$; while [ $(ls {tmp_path} | wc -l) -lt 4 ]; do sleep 0.01; done"
    shell = {"python_shell": True, "timeout": PATIENCE}
    low = {"client": "local", "tgt": "ms-0", "fun": "cmd.run", "arg": [all_wait], "kwarg": shell}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: post(api, "/", [low], token), range(4)))
    assert [reply.ret for reply in replies] == [[{"ms-0": ""}]] * 4


def test_a_logout_leaves_a_cookie_that_is_over(api, token):
    cookie = http.cookies.SimpleCookie(api.request("POST", "/logout", headers=token).headers["set-cookie"])["session_id"]
    assert cookie.value == "" and cookie["max-age"] == "0" and cookie["httponly"]
    again = api.request("POST", "/logout", headers=token)
    assert again.status == 401 and "set-cookie" not in again.headers


def test_a_job_that_runs_is_shown_without_returns(api, token):
    low = {"client": "local_async", "tgt": "ms-0", "fun": "test.sleep", "arg": [10]}
    job = post(api, "/minions", [low], token)
    path = job.json["_links"]["jobs"][0]["href"]
    (about,) = api.request("GET", path, headers=token).json["info"]
    assert about["Result"] == {} and about["Minions"] == ["ms-0"] and about["Function"] == "test.sleep"
    done = wait_until(lambda: api.request("GET", path, headers=token).json["info"][0]["Result"], "it returns")
    assert done["ms-0"] == {"return": True, "retcode": 0, "success": True}


def archive(api, fields):
    connection = api.connection()
    connection.request("POST", "/keys", fields, FORM)
    reply = connection.getresponse()
    status, headers, body = reply.status, dict(reply.getheaders()), reply.read()
    connection.close()
    return status, headers, body


def test_keys_come_as_an_archive_once(api):
    who, minion = "username=saltdev&password=x&eauth=file", f"new{api.port}"
    status, headers, body = archive(api, f"{who}&mid={minion}&keysize=2048&force=false")
    assert status == 200 and headers["Content-Type"] == "application/x-tar"
    assert headers["Content-Disposition"] == f'attachment; filename="saltkeys-{minion}.tar"'
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        members = [(one.name, one.mode, one.uid, one.mtime) for one in tar]
        assert members == [("minion.pub", 0o644, 0, 0), ("minion.pem", 0o600, 0, 0)]
        assert b"PRIVATE KEY" in tar.extractfile("minion.pem").read()
    assert archive(api, f"{who}&mid={minion}")[0] == 409
    assert archive(api, f"{who}&mid={minion}&force=true")[0] == 200
    token = session(login(api))
    assert minion in api.request("GET", "/keys", headers=token).ret["minions"]


def test_an_address_is_that_of_the_connection_whatever_a_header_says(start, front):
    changes = serving(authorized_ips=["192.0.2.1"])
    changes["rest_fcgi"]["trusted_proxies"] = []
    daemon = start(changes)
    for api in (api_of(changes), front(daemon)):
        for name in ("Remote-Addr", "X-Forwarded-For", "X-Real-Ip", "Forwarded", "Client-Ip"):
            assert api.request("GET", "/", headers={name: "192.0.2.1"}).status == 403


def test_a_session_ends_everywhere_with_its_token(start):
    both = ["rest_cherrypy", "rest_tornado"]
    changes = merge(serving(both[0]), serving(both[1]))
    start(merge(changes, {"token_expire": 10, "rest_fcgi": {"netapi": both}}))
    api, tornado = (api_of(changes, module) for module in both)
    token = session(login(api))
    assert api.request("GET", "/stats", headers=token).status == 200
    wait_until(lambda: api.request("GET", "/jobs", headers=token).status == 401, "it is over")
    for path in ("/minions", "/keys", "/stats"):
        assert api.request("GET", path, headers=token).status == 401
    for path in ("/", "/minions", "/jobs", "/hook", "/logout"):
        assert post(api, path, [], token).status == 401
    for path in ("/", "/run", "/minions", "/hook"):
        assert post(tornado, path, [], token).status == 401
