# SPDX-License-Identifier: MIT

import json

from rest_row import CRED, ECHO, FORM, HTML, LIMITED, PING, TEXT, UNKNOWN, WRONG, YAML, Way, with_
from rest_tornado_rows import tornado

KEYS_OF_CLIENTS = {"tgt": "*", "tgt_type": "glob", "expr_form": "glob", "arg": [], "outputter": "json", "ret": "", "jid": "1"}


def cherrypy():
    way = Way("rest_cherrypy")
    get, post = way.get, way.post
    _root(get, post)
    _negotiation(get)
    _bodies(post)
    _lowstate(post)
    _sessions(get, post)
    _places(get, post)
    return way.rows


def _root(get, post):
    for path in ("/", "/index"):
        get(path, main=path == "/", ours=(200, "Welcome"))
    get("/", method="HEAD")
    get("/nosuch")
    post("/", [PING], name="POST / without a session", main=True)
    post("/", [PING], "admin", main=True)
    post("/", [PING, with_(ECHO, arg=["a", 1])], "admin", name="two chunks")


def _negotiation(get):
    get("/", accept=YAML, ours=(200, "Welcome"))
    get("/", accept="text/plain")
    get("/", accept=HTML, ours=(200, "<head>"))
    get("/", accept="application/json;q=abc")
    get("/", headers={"Accept-Encoding": "identity;q=0"}, name="GET /, Accept-Encoding identity;q=0", ours=(200, "Welcome"))


def _bodies(post):
    run = [with_(ECHO, **CRED, arg=["a", 2])]
    post("/run", run, name="a list as JSON", main=True)
    yaml = "- client: local\n  tgt: ms-0\n  fun: test.arg\n  arg: [017, 1_000, 12:30:45, 2026-01-01, yes]\n"
    yaml += "  username: saltdev\n  password: x\n  eauth: auto\n"
    post("/run", yaml, name="a list as YAML", media=YAML, main=True)
    post("/run", json.dumps(run), name="JSON as text/plain", media=TEXT)
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun=test.arg"
    post("/run", form + "&arg=1&arg=2.5&arg=true&arg={a: b}&arg=[1,2]", name="a form", media=FORM, main=True)
    post("/run", form + "&arg=x%3D1", name="a form with a keyword", media=FORM)
    subset = "username=saltdev&password=x&eauth=auto&client=local_subset&tgt=ms-*&fun=test.ping&subset=1"
    post("/run", subset, name="a form with a subset", media=FORM, ours=(200, "True"))
    post("/run", run, name="a body of type text/xml", media="text/xml", ours=(406, "Content type not supported"))
    post("/run", None, name="no body")
    twice = json.dumps(run[0])[:-1] + ', "arg": ["b"]}'
    post("/run", twice, name="a key twice in JSON")
    post("/run", '[{"a": 1', name="malformed JSON", ours=(400, ": line 1, column "))
    for text in ("a: [", "!!python/object:os.system {}"):
        post("/run", text, name=f"malformed YAML {text!r}", media=YAML, ours=(400, ""))
    post("/run", b'["\xff"]', name="bytes that are no UTF-8", ours=(400, ""))


def _lowstate(post):
    def run(name, *chunks, **more):
        post("/run", [with_(chunk, **CRED) for chunk in chunks], name=name, **more)

    run("local", PING, main=True)
    run("local_async", with_(PING, client="local_async"), main=True)
    run("local_batch", with_(PING, client="local_batch", batch="1"))
    run("local_subset", with_(PING, client="local_subset", subset=2))
    run("runner", {"client": "runner", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}, main=True)
    run("runner, full_return", {"client": "runner", "fun": "test.arg", "full_return": True})
    run("runner that is not there", {"client": "runner", "fun": "nosuch.fun"}, ours=((200, 400), UNKNOWN))
    run("runner, keys of clients", {"client": "runner", "fun": "test.stdout_print", **KEYS_OF_CLIENTS})
    run("a jid of one's own", with_(PING, tgt="ms-0", jid="my-job.1"))
    unset = dict.fromkeys(("kwarg", "metadata", "timeout", "ret", "full_return"), "")
    run('"" for what is not set', with_(PING, tgt="ms-0", **unset))
    run("runner_async", {"client": "runner_async", "fun": "test.arg"})
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, main=True)
    run("wheel_async", {"client": "wheel_async", "fun": "key.list_all"})
    run("nobody matches", with_(PING, tgt="no*"))
    run("two chunks, the second of no client", PING, with_(PING, client="foo"))
    run("client foo", with_(PING, client="foo"))
    run("no client", {"tgt": "*", "fun": "test.ping"})
    post("/run", [], name="an empty list", main=True)
    for value in ({}, "a"):
        post("/run", json.dumps(value), name=f"{json.dumps(value)} for a list")
    post("/run", [5], name="5 for a chunk", ours=(400, ""))
    post("/run", [PING], name="no credentials")
    post("/run", [with_(PING, **WRONG)], name="a wrong password, local")
    for token in ("zz", None, "ab" * 32):
        post("/run", [with_(PING, token=token)], name=f"token {token!r}")
    post("/run", [with_(PING, **LIMITED)], name="not allowed, local")
    post("/run", [{"client": "runner", "fun": "test.arg", **LIMITED}], name="not allowed, runner")
    post("/run", [with_(PING, **CRED), with_(PING, **LIMITED)], name="the second is not allowed")
    post("/run", [PING], "admin", name="/run with a session alone")


def _sessions(get, post):
    get("/login", main=True, ours=(200, "Please log in"))
    post("/login", CRED, main=True)
    post("/login", [CRED], name="POST /login, a list")
    post("/login", "username=saltdev&password=x&eauth=auto", name="POST /login, a form", media=FORM, main=True)
    post("/login", WRONG, name="POST /login, a wrong password")
    post("/login", with_(CRED, username="nobody"), name="POST /login, a name without rules")
    post("/login", '["a"]', name='POST /login, ["a"]', ours=(400, ""))
    post("/login", CRED, name="POST /login, HTML wanted", accept=HTML)
    post("/logout", None, "once", name="POST /logout", media="", main=True, ours=(200, "cleared"))
    post("/logout", None, name="POST /logout without a session")
    get("/logout", "admin", ours=(405, ""))
    post("/token", CRED, main=True)
    post("/token", {"username": "saltdev"}, name="POST /token, keys missing")
    get("/token", ours=(200, "Welcome"))
    get("/jobs", headers={"X-Auth-Token": "f" * 64}, name="GET /jobs, token ffff")
    get("/jobs")


def _places(get, post):
    get("/minions/ms-0", "admin", main=True)
    get("/minions/ms-0", "limited")
    get("/minions/nosuch", "admin")
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True)
    post("/minions", None, "admin", name="POST /minions, no body")
    post("/jobs", [PING], "admin")
    get("/jobs/20200101000000000000", "admin")
    get("/jobs/junk", "admin")
    for path, method in (("/jobs", "DELETE"), ("/minions/a/b", "PATCH"), ("/hook", "HEAD"), ("/nosuch", "PUT")):
        get(path, method=method)
    post("/minions", "[", name="POST /minions without a session, malformed")
    get("/keys", "admin", main=True)
    get("/keys/nosuch", "admin")
    post("/hook", {"a": 1}, "admin", main=True)
    get("/hook", "admin")
    get("/stats")
    get("/app")
    get("/favicon.ico", ours=(404, ""))
    get("/run", ours=(200, "Welcome"))
    get("/run", method="OPTIONS", headers={"Origin": "http://elsewhere"}, name="OPTIONS /run for no method")
    for path in ("/run", "/", "/nosuch"):
        headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
        get(path, method="OPTIONS", headers=headers, ours=(200, "") if path == "/" else ())


def all_rows():
    return [*cherrypy(), *tornado()]
