# SPDX-License-Identifier: MIT
"""Requests in the form in which well-known clients send them: SaltGUI in a browser, and SUSE's client for Java."""

import json

import pytest

from support.api import CRED
from support.rest import WAYS_IN, running
from support.salt_master import MINIONS, SECRET

PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
JAVA = {"Accept": "application/json", "Content-Type": "application/json; charset=UTF-8"}


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    gui = tmp_path_factory.mktemp("gui")
    static = gui / "static"
    (static / "scripts").mkdir(parents=True)
    (gui / "index.html").write_text("<title>a GUI</title><script src='static/scripts/index.js'></script>")
    (static / "scripts/index.js").write_text("import {API} from './Api.js';")
    (static / "salt-auth.txt").write_text("pam\nfile\n")
    files = {"app": str(gui / "index.html"), "static": str(static), "static_path": "/static"}
    with running(changes={"rest_cherrypy": files}) as one:
        yield one


@pytest.fixture(params=WAYS_IN)
def api(rest, request):
    return rest.ways[request.param]


class Gui:
    """Sends what a page of ours sends with fetch(): the body is text, and the browser adds the cookie by itself."""

    def __init__(self, api):
        self._api, self.token, self._cookie = api, "", {}

    def ask(self, method, path, low=None, accept="application/json"):
        headers = {"Accept": accept, "Cache-Control": "no-cache", "X-Auth-Token": self.token, **self._cookie}
        headers |= {"Origin": f"http://127.0.0.1:{self._api.port}", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        headers |= {"Content-Type": "text/plain;charset=UTF-8"} if low is not None else {}
        headers["Host"] = f"127.0.0.1:{self._api.port}"
        return self._api.request(method, path, None if low is None else json.dumps(low), headers)

    def log_in(self, **credentials):
        reply = self.ask("POST", "/login", {**CRED, **credentials})
        if reply.status == 200:
            self.token = reply.ret[0]["token"]
            self._cookie = {"Cookie": f"session_id={self.token}"}
        return reply

    def ret(self, **low):
        reply = self.ask("POST", "/", low)
        assert reply.status == 200, (low, reply)
        return reply.ret[0]


@pytest.fixture
def gui(api):
    one = Gui(api)
    assert one.log_in().status == 200
    return one


def test_a_browser_gets_the_page_and_its_files(api):
    for path in ("/", "/app", "/login", "/nosuch"):
        page = api.request("GET", path, headers={"Accept": PAGE})
        assert page.status == 200 and "a GUI" in page.text and page.headers["content-type"].startswith("text/html")
    script = api.request("GET", "/static/scripts/index.js", headers={"Accept": "*/*", "Sec-Fetch-Dest": "script"})
    assert script.status == 200 and "javascript" in script.headers["content-type"]
    gui = Gui(api)
    assert gui.ask("GET", "/static/salt-auth.txt", accept="text/plain").text == "pam\nfile\n"
    assert gui.ask("GET", "/static/minions.txt", accept="text/plain").status == 404


def test_a_login_says_who_may_what(api):
    (about,) = Gui(api).log_in().ret
    assert about["perms"] and about["eauth"] == "file" and 0 < about["start"] < about["expire"]
    assert Gui(api).log_in(eauth="sharedsecret", username="limited", password="wrong").status == 401
    (nobody,) = Gui(api).log_in(username="nobody").ret
    assert len(nobody["perms"]) == 0


def test_the_pages_of_a_gui_get_their_data(gui):
    assert {"timeout", "file_roots"} & set(gui.ret(client="wheel", fun="config.values")["data"]["return"])
    assert gui.ret(client="wheel", fun="minions.connected")["data"]["return"] == list(MINIONS)
    assert gui.ret(client="wheel", fun="key.list_all")["data"]["return"]["minions"] == list(MINIONS)
    assert set(gui.ret(client="wheel", fun="key.finger", match="*")["data"]["return"]["minions"]) >= set(MINIONS)
    for fun in ("cache.grains", "cache.pillar"):
        assert set(gui.ret(client="runner", fun=fun, tgt="*")) == set(MINIONS)
    assert gui.ret(client="local", fun="grains.items", tgt_type="list", tgt="ms-0")["ms-0"]["id"] == "ms-0"
    assert set(gui.ret(client="runner", fun="manage.versions")["Up to date"]) == set(MINIONS)
    group = {"client": "local", "full_return": True, "fun": "test.version", "tgt": "N@web", "tgt_type": "compound"}
    assert {minion: one["retcode"] for minion, one in gui.ret(**group).items()} == {"ms-0": 0, "ms-1": 0}
    beacons = {"client": "local", "fun": "beacons.list", "kwarg": {"return_yaml": False}, "tgt_type": "glob", "tgt": "ms-0"}
    assert gui.ret(**beacons) == {"ms-0": {}}
    assert list(gui.ret(client="runner", fun="state.orchestrate_show_sls", arg=["*"]).values()) == [{}]


def test_a_gui_starts_a_job_and_follows_it(gui):
    job = gui.ret(client="local_async", fun="test.echo", arg=["hi"], tgt="*", tgt_type="glob")
    assert set(job["minions"]) == set(MINIONS)
    assert job["jid"] in gui.ret(client="runner", fun="jobs.list_jobs")
    assert job["jid"] in gui.ret(client="runner", fun="jobs.list_jobs", search_function="test.echo")
    about = gui.ret(client="runner", fun="jobs.list_job", jid=job["jid"])
    assert about["Function"] == "test.echo" and about["Arguments"] == ["hi"] and set(about["Minions"]) == set(MINIONS)
    assert isinstance(gui.ret(client="runner", fun="jobs.active"), dict)


def test_a_gui_asks_now_and_then_whether_it_is_still_logged_in(gui):
    assert "CherryPy Applications" in gui.ask("GET", "/stats").json
    assert gui.ask("POST", "/logout", {}).status == 200
    assert gui.ask("GET", "/stats").status == gui.ask("POST", "/logout", {}).status == 401


def test_the_client_for_java_logs_in_calls_and_logs_out(api):
    def post(path, value, **headers):
        return api.request("POST", path, value if isinstance(value, str) else json.dumps(value), {**JAVA, **headers})

    (about,) = post("/login", {"username": "saltdev", "password": "x", "eauth": "file"}).ret
    assert all(isinstance(perm, str) for perm in about["perms"])
    token = {"X-Auth-Token": about["token"]}
    call = {"client": "local", "tgt": ["ms-0", "ms-1"], "tgt_type": "list", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}
    call |= {"metadata": {"who": "java"}, "timeout": 10, "gather_job_timeout": 5}
    assert [one["args"] for one in post("/", [call], **token).ret[0].values()] == [["a"]] * 2
    for more in ({}, {"batch": "1"}):
        job = post("/", [{**call, "client": "local_async", **more}], **token).ret[0]
        assert len(job["jid"]) == 20 and set(job["minions"]) == {"ms-0", "ms-1"}
    nobody = {"client": "local_async", "tgt": "no*", "tgt_type": "glob", "fun": "test.ping"}
    assert post("/", [nobody], **token).ret == [{}]
    up = {"client": "runner", "fun": "manage.up", "kwarg": {}}
    assert set(post("/", [up], **token).ret[0]) == set(MINIONS)
    finger = post("/", [{"client": "wheel", "fun": "key.finger", "match": "ms-0"}], **token).ret[0]
    assert finger["data"]["success"] and set(finger["data"]["return"]["minions"]) == {"ms-0"}
    shared = {"username": "limited", "password": SECRET, "eauth": "sharedsecret"}
    assert post("/run", [{**shared, "client": "local", "tgt": "ms-0", "fun": "test.ping"}]).ret == [{"ms-0": True}]
    assert post("/logout", "", **token).ret == "Your token has been cleared"
    assert post("/", [up], **token).status == 401
