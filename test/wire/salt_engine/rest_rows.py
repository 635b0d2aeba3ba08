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
    for path in ("/", "//", "/index", "/index/"):
        get(path, main=path == "/", ours=(200, "Welcome"))
    get("/", method="HEAD")
    get("/nosuch")
    post("/", [PING], name="POST / without a session", main=True)
    post("/", [PING], "admin", main=True)
    post("/", [PING, with_(ECHO, arg=["a", 1])], "admin", name="two chunks")
    post("/", PING, "admin", name="one object")


def _negotiation(get):
    plain = ("", "*/*", "application/*", "application/json", "application/json; charset=utf-8", "application/json;version=1")
    for accept in (*plain, YAML):
        get("/", accept=accept, ours=(200, "Welcome"))
    for accept in ("text/plain", "application/vnd.foo+json"):
        get("/", accept=accept)
    get("/", accept=HTML, ours=(200, "<head>"))
    get("/", accept="text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", ours=(200, "<head>"))
    get("/", accept="application/json;q=0")
    get("/", accept="application/json;q=abc")
    for coding in ("br", "identity;q=0"):
        get("/", headers={"Accept-Encoding": coding}, name=f"GET /, Accept-Encoding {coding}", ours=(200, "Welcome"))


def _bodies(post):
    run = [with_(ECHO, **CRED, arg=["a", 2])]
    post("/run", run, name="a list as JSON", main=True)
    post("/run", run, name="JSON with a charset", media="application/json; charset=utf-8")
    yaml = "- client: local\n  tgt: ms-0\n  fun: test.arg\n  arg: [017, 1_000, 12:30:45, 2026-01-01, yes]\n"
    yaml += "  username: saltdev\n  password: x\n  eauth: auto\n"
    post("/run", yaml, name="a list as YAML", media=YAML, main=True)
    post("/run", json.dumps(run), name="JSON as text/plain", media=TEXT)
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun=test.arg"
    post("/run", form + "&arg=1&arg=2.5&arg=true&arg={a: b}&arg=[1,2]", name="a form", media=FORM, main=True)
    post("/run", form + "&arg=x%3D1", name="a form with a keyword", media=FORM)
    post("/run", form + "&timeout=abc", name="a form with a bad timeout", media=FORM, ours=(400, "timeout"))
    post("/run", form + "&arg=%C3%A4+b%zz;c", name="a form with escapes", media=FORM)
    empty = "&timeout=&tgt_type=&kwarg=&token=&batch=&metadata=&jid=&ret=&full_return="
    post("/run", form.replace("test.arg", "test.ping") + empty, name="a form with fields without a value", media=FORM)
    subset = "username=saltdev&password=x&eauth=auto&client=local_subset&tgt=ms-*&fun=test.ping&subset=1"
    post("/run", subset, name="a form with a subset", media=FORM, ours=(200, "True"))
    latin = "application/json; charset=latin-1"
    post("/run", run, name="JSON in another charset", media=latin, ours=(406, "Content type not supported"))
    for media in ("", "text/xml", "multipart/form-data", "application/vnd.api+json"):
        post("/run", run, name=f"a body of type {media or 'unknown'}", media=media, ours=(406, "Content type not supported"))
    post("/run", None, name="no body")
    twice = json.dumps(run[0])[:-1] + ', "arg": ["b"]}'
    post("/run", twice, name="a key twice in JSON")
    for text in ('[{"a": 1', "\ufeff[]", "[] x"):
        post("/run", text, name=f"malformed JSON {text!r}", ours=(400, ": byte "))
    for text in ("a: [", "\ta: 1", "a: 1\na: 2\n", "--- 1\n--- 2\n", "!!python/object:os.system {}"):
        post("/run", text, name=f"malformed YAML {text!r}", media=YAML, ours=(400, ""))
    post("/run", b'["\xff"]', name="bytes that are no UTF-8", ours=(400, ""))
    gzip = {"Content-Encoding": "gzip"}
    for coding in ("UTF-8", "identity"):
        headers = {"Content-Encoding": coding}
        post("/run", [with_(PING, **CRED, tgt="ms-0")], name=f"a body with Content-Encoding {coding}", headers=headers)
    post("/run", b"\x1f\x8b\x08", name="a packed body", headers=gzip, ours=(415, ""))
    post("/run", "[" * 100_000, name="JSON nested 100,000 deep", ours=(400, ""))


def _lowstate(post):
    def run(name, *chunks, **more):
        post("/run", [with_(chunk, **CRED) for chunk in chunks], name=name, **more)

    run("local", PING, main=True)
    run("local_async", with_(PING, client="local_async"), main=True)
    run("local_batch", with_(PING, client="local_batch", batch="1"))
    run("local_batch without a match", with_(PING, client="local_batch", tgt="no*"))
    run("local_batch with a bad batch", with_(PING, client="local_batch", batch="x"), ours=(400, "batch"))
    run("local_subset", with_(PING, client="local_subset", subset=2))
    run("runner", {"client": "runner", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}, main=True)
    run("runner, full_return", {"client": "runner", "fun": "test.arg", "full_return": True})
    run("runner that is not there", {"client": "runner", "fun": "nosuch.fun"}, ours=((200, 400), UNKNOWN))
    run("runner that takes longer", {"client": "runner", "fun": "test.sleep", "arg": [8], "timeout": 1}, ours=(504, ""))
    run("runner, keys of clients", {"client": "runner", "fun": "test.stdout_print", **KEYS_OF_CLIENTS})
    run("a jid of one's own", with_(PING, tgt="ms-0", jid="my-job.1"))
    for empty in ("", []):
        unset = dict.fromkeys(("kwarg", "metadata", "timeout", "ret", "full_return"), empty)
        run(f"{json.dumps(empty)} for what is not set", with_(PING, tgt="ms-0", **unset))
    run("runner_async", {"client": "runner_async", "fun": "test.arg"})
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, main=True)
    run("wheel_async", {"client": "wheel_async", "fun": "key.list_all"})
    run("nobody matches", with_(PING, tgt="no*"))
    run("two chunks, the second of no client", PING, with_(PING, client="foo"))
    run("an unknown tgt_type", with_(PING, tgt_type="foo"), ours=(400, "foo"))
    run("client foo", with_(PING, client="foo"))
    run("no client", {"tgt": "*", "fun": "test.ping"})
    for key in ("fun", "tgt"):
        run(f"local without {key}", {k: v for k, v in PING.items() if k != key}, ours=(400, key))
    run("runner without fun", {"client": "runner"}, ours=(400, ""))
    post("/run", [], name="an empty list", main=True)
    for value in ({}, None, "a", 5):
        post("/run", json.dumps(value), name=f"{json.dumps(value)} for a list")
    for value in (5, None, []):
        post("/run", [value], name=f"{json.dumps(value)} for a chunk", ours=(400, ""))
    post("/run", [PING], name="no credentials")
    post("/run", [with_(PING, **WRONG)], name="a wrong password, local")
    for token in ("zz", 5, None, "../x", "ab" * 32):
        post("/run", [with_(PING, token=token)], name=f"token {token!r}")
    post("/run", [with_(PING, **LIMITED)], name="not allowed, local")
    post("/run", [{"client": "runner", "fun": "test.arg", **LIMITED}], name="not allowed, runner")
    post("/run", [with_(PING, **CRED), with_(PING, **LIMITED)], name="the second is not allowed")
    functions = {**LIMITED, **ECHO, "fun": ["test.ping", "test.arg"], "arg": [[], []]}
    post("/run", [functions], name="a list of functions, of them one allowed", ours=(401, "Authorization error"))
    post("/run", [PING], "admin", name="/run with a session alone")


def _sessions(get, post):
    get("/login", main=True, ours=(200, "Please log in"))
    post("/login", CRED, main=True)
    post("/login", [CRED], name="POST /login, a list")
    post("/login", "username=saltdev&password=x&eauth=auto", name="POST /login, a form", media=FORM, main=True)
    post("/login", "username: saltdev\npassword: x\neauth: auto\n", name="POST /login, YAML", media=YAML)
    post("/login", WRONG, name="POST /login, a wrong password")
    post("/login", with_(CRED, eauth="nosuch"), name="POST /login, unknown eauth")
    post("/login", with_(CRED, username="nobody"), name="POST /login, a name without rules")
    form = "username=saltdev&password=x&eauth=auto"
    post("/login", form, name="POST /login, a form as text/plain", media=TEXT, ours=(400, ""))
    post("/login?" + form, None, name="POST /login, credentials in the URL", ours=(400, ""))
    for value in ([], ["a"], "a", 5, None):
        text = json.dumps(value)
        post("/login", text, name=f"POST /login, {text}", ours=(400, ""))
    post("/login", CRED, name="POST /login, HTML wanted", accept=HTML)
    get("/login?x=1", ours=(200, "Please log in"))
    post("/logout", None, "once", name="POST /logout", media="", main=True, ours=(200, "cleared"))
    post("/logout", None, name="POST /logout without a session")
    get("/logout", "admin", ours=(405, ""))
    post("/token", CRED, main=True)
    post("/token", [CRED, LIMITED], name="POST /token, two", ours=(200, "'name': 'limited'"))
    post("/token", {"username": "saltdev"}, name="POST /token, keys missing")
    post("/token", None, name="POST /token, no body", ours=(400, ""))
    get("/token", ours=(200, "Welcome"))
    for token in ("0" * 40, "zz", "f" * 64):
        get("/jobs", headers={"X-Auth-Token": token}, name=f"GET /jobs, token {token[:4]}")
    get("/jobs")
    get("/jobs", headers={"Authorization": "Bearer " + "f" * 64}, name="GET /jobs, a bearer")


def _places(get, post):
    get("/minions/ms-0", "admin", main=True)
    get("/minions/ms-0", "limited")
    get("/minions/ms%2D0/", "admin")
    get("/minions/nosuch", "admin")
    get("/minions")
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True)
    post("/minions", [{"fun": "test.ping"}], "admin", name="POST /minions without tgt", ours=(400, "tgt"))
    two = [{"tgt": "ms-*", "fun": "test.ping"}, {"tgt": "ms-0", "fun": "test.ping", "client": "runner"}]
    post("/minions", two, "admin", name="POST /minions, two, one with a client")
    post("/minions", None, "admin", name="POST /minions, no body")
    post("/jobs", [PING], "admin")
    get("/jobs/20200101000000000000", "admin")
    get("/jobs/junk", "admin")
    get("/jobs/junk/more", "admin", ours=(404, "Nothing matches"))
    for path, method in (
        ("/jobs", "DELETE"), ("/minions", "PUT"), ("/minions/a/b", "PATCH"), ("/hook", "GET"), ("/hook", "HEAD"),
        ("/hook", "DELETE"), ("/stats", "POST"), ("/stats/x", "PUT"), ("/logout", "DELETE"), ("/nosuch", "PUT"),
    ):
        get(path, method=method)
    post("/minions", "[", name="POST /minions without a session, malformed")
    get("/keys", "admin", main=True)
    get("/keys/nosuch", "admin")
    get("/keys")
    post("/keys", [CRED], name="POST /keys without mid", ours=(400, "mid"))
    post("/hook", {"a": 1}, "admin", main=True)
    post("/hook/some/tag", {"a": 1}, "admin")
    post("/hook", "foo=Foo&foo=2", "admin", name="POST /hook, a form", media=FORM)
    post("/hook", {"a": 1}, "admin", name="POST /hook, a type that is not read", media="text/xml", ours=(406, "Content type"))
    post("/hook", None, "admin", name="POST /hook, no body")
    post("/hook", {}, name="POST /hook without a session")
    get("/hook", "admin")
    get("/stats")
    get("/app")
    get("/favicon.ico", ours=(404, ""))
    get("/run", ours=(200, "Welcome"))
    get("/run", method="PUT", ours=(405, "Specified method"))
    get("/run", method="OPTIONS", headers={"Origin": "http://elsewhere"}, name="OPTIONS /run for no method")
    for path in ("/run", "/app", "/nosuch"):
        headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
        get(path, method="OPTIONS", headers=headers, ours=(200, "") if path == "/app" else ())
    for path in ("/", "/login", "/minions", "/jobs", "/keys", "/hook", "/stats", "/token", "/logout"):
        headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
        get(path, method="OPTIONS", headers=headers, ours=(200, ""))


def all_rows():
    return [*cherrypy(), *tornado()]
