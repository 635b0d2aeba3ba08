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
    get("/?a=b", ours=(200, "Welcome"))
    get("/", method="DELETE")
    get("/nosuch")
    get("/nosuch/deep")
    get("/RUN")
    post("/", [PING], name="POST / without a session", main=True)
    post("/", [PING], "admin", main=True)
    post("/", [PING, with_(ECHO, arg=["a", 1])], "admin", name="two chunks")
    post("/", [with_(PING, **WRONG)], "admin", name="a session and bad credentials inside")
    post("/", PING, "admin", name="one object")
    post("/", [with_(PING, **LIMITED)], "admin", name="a session and another's credentials inside")
    post("/?fun=test.echo", [PING], "admin", name="POST / with a query")


def _negotiation(get):
    plain = ("", "*/*", "application/*", "application/json", "application/json; charset=utf-8", "application/json;version=1")
    for accept in (*plain, YAML):
        get("/", accept=accept, ours=(200, "Welcome"))
    for accept in ("text/plain", "application/vnd.foo+json"):
        get("/", accept=accept)
    get("/", accept=HTML, ours=(200, "<head>"))
    for accept in ("application/yaml", "text/yaml", "application/JSON"):
        get("/", accept=accept, ours=(200, "Welcome"))
    get("/", accept="application/xml;q=0.9, application/json;q=0.1", ours=(200, "Welcome"))
    get("/", accept="text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", ours=(200, "<head>"))
    get("/", accept="application/json;q=0.1, application/x-yaml;q=0.9", ours=(200, "return: Welcome"))
    get("/", accept="application/json, application/x-yaml", ours=(200, "Welcome"))
    get("/", accept="application/json;q=0")
    get("/", accept="application/json;q=0, */*", ours=(200, "return: Welcome"))
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
    post("/run", yaml, name="a list as text/yaml", media="text/yaml")
    post("/run", json.dumps(run), name="JSON as text/plain", media=TEXT)
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun=test.arg"
    post("/run", form + "&arg=1&arg=2.5&arg=true&arg={a: b}&arg=[1,2]", name="a form", media=FORM, main=True)
    post("/run", form, name="a form without arg", media=FORM)
    post("/run", form + "&arg=", name="a form with an empty arg", media=FORM)
    post("/run", form + "&arg=x%3D1", name="a form with a keyword", media=FORM)
    post("/run", form + "&kwarg={a: 1}", name="a form with kwarg", media=FORM)
    post("/run", form + "&kwarg=abc", name="a form with a bad kwarg", media=FORM, ours=(400, "kwarg"))
    post("/run", form + "&arg[]=a", name="a form with arg[]", media=FORM, ours=(200, "'args': ['a']"))
    post("/run", form + "&timeout=abc", name="a form with a bad timeout", media=FORM, ours=(400, "timeout"))
    post("/run", form + "&arg=%C3%A4+b%zz;c", name="a form with escapes", media=FORM)
    empty = "&timeout=&tgt_type=&kwarg=&token=&batch=&metadata=&jid=&ret=&full_return="
    post("/run", form.replace("test.arg", "test.ping") + empty, name="a form with fields without a value", media=FORM)
    subset = "username=saltdev&password=x&eauth=auto&client=local_subset&tgt=ms-*&fun=test.ping&subset=1"
    post("/run", subset, name="a form with a subset", media=FORM, ours=(200, "True"))
    runner = "username=saltdev&password=x&eauth=auto&client=runner&fun=test.arg&a=1"
    post("/run", runner, name="a form for a runner", media=FORM)
    post("/run", run, name="JSON of a type in capitals", media="Application/JSON", ours=(200, "'args': ['a', 2]"))
    post("/run", yaml, name="a list as application/yaml", media="application/yaml", ours=(200, "'args': [17, 1000, 45045"))
    latin = "application/json; charset=latin-1"
    post("/run", run, name="JSON in another charset", media=latin, ours=(406, "Content type not supported"))
    for media in ("", "text/xml", "multipart/form-data", "application/vnd.api+json"):
        post("/run", run, name=f"a body of type {media or 'unknown'}", media=media, ours=(406, "Content type not supported"))
    post("/run", None, name="no body")
    post("/run", None, name="no body of an unknown type", media="text/xml")
    post("/run", "hello", name="a text that is no JSON", media=TEXT)
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
    run("local_batch of a half", with_(PING, client="local_batch", batch="50%"))
    run("local_batch without a size", with_(PING, client="local_batch"))
    run("local_batch without a match", with_(PING, client="local_batch", tgt="no*"))
    run("local_batch with a bad batch", with_(PING, client="local_batch", batch="x"), ours=(400, "batch"))
    run("local_subset", with_(PING, client="local_subset", subset=2))
    run("runner", {"client": "runner", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}, main=True)
    run("runner, full_return", {"client": "runner", "fun": "test.arg", "full_return": True})
    run("runner that is not there", {"client": "runner", "fun": "nosuch.fun"}, ours=((200, 400), UNKNOWN))
    run("runner that takes longer", {"client": "runner", "fun": "test.sleep", "arg": [8], "timeout": 1}, ours=(504, ""))
    run("runner, a key of its own", {"client": "runner", "fun": "test.arg", "a": 1})
    run("runner, keys of clients", {"client": "runner", "fun": "test.stdout_print", **KEYS_OF_CLIENTS})
    run("a jid of one's own", with_(PING, tgt="ms-0", jid="my-job.1"))
    for empty in ("", []):
        unset = dict.fromkeys(("kwarg", "metadata", "timeout", "ret", "full_return"), empty)
        run(f"{json.dumps(empty)} for what is not set", with_(PING, tgt="ms-0", **unset))
    for yes in (1, "true"):
        run(f"full_return {json.dumps(yes)}", with_(PING, tgt="ms-0", full_return=yes))
    run("runner_async", {"client": "runner_async", "fun": "test.arg"})
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, main=True)
    run("wheel that is not there", {"client": "wheel", "fun": "nosuch.fun"})
    run("wheel_async", {"client": "wheel_async", "fun": "key.list_all"})
    run("nobody matches", with_(PING, tgt="no*"))
    run("a function that is not there", with_(PING, fun="nosuch.fun"))
    run("a list of functions", {**ECHO, "fun": ["test.ping", "test.arg"], "arg": [[], ["a"]]})
    run("two chunks, the second of no client", PING, with_(PING, client="foo"))
    run("a list target", with_(PING, tgt=["ms-0", "ms-1"], tgt_type="list"))
    run("an unknown tgt_type", with_(PING, tgt_type="foo"), ours=(400, "foo"))
    run("client foo", with_(PING, client="foo"))
    run("client destroy", with_(PING, client="destroy"), ours=(400, "Invalid client specified: 'destroy'"))
    run("no client", {"tgt": "*", "fun": "test.ping"})
    for key in ("fun", "tgt"):
        run(f"local without {key}", {k: v for k, v in PING.items() if k != key}, ours=(400, key))
    run("runner without fun", {"client": "runner"}, ours=(400, ""))
    run("raw_shell", with_(PING, raw_shell=True))
    post("/run", [], name="an empty list", main=True)
    for value in ({}, None, "a", 5):
        post("/run", json.dumps(value), name=f"{json.dumps(value)} for a list")
    for value in (5, None, []):
        post("/run", [value], name=f"{json.dumps(value)} for a chunk", ours=(400, ""))
    post("/run", [PING], name="no credentials")
    post("/run", [with_(PING, **WRONG)], name="a wrong password, local")
    wrong = {"client": "runner", "fun": "test.arg", **WRONG}
    post("/run", [wrong], name="a wrong password, runner")
    for token in ("zz", 5, None, "../x", "ab" * 32):
        post("/run", [with_(PING, token=token)], name=f"token {token!r}")
    post("/run", [with_(PING, **LIMITED)], name="not allowed, local")
    post("/run", [with_(PING, **LIMITED, tgt="ms-0")], name="allowed, local")
    post("/run", [{"client": "runner", "fun": "test.arg", **LIMITED}], name="not allowed, runner")
    post("/run", [with_(PING, **CRED), with_(PING, **LIMITED)], name="the second is not allowed")
    functions = {**LIMITED, **ECHO, "fun": ["test.ping", "test.arg"], "arg": [[], []]}
    post("/run", [functions], name="a list of functions, of them one allowed", ours=(401, "Authorization error"))
    post("/run", [PING], "admin", name="/run with a session alone")


def _sessions(get, post):
    get("/login", main=True, ours=(200, "Please log in"))
    post("/login", CRED, main=True)
    post("/login", [CRED], name="POST /login, a list")
    post("/login", [LIMITED], name="POST /login, limited")
    post("/login", "username=saltdev&password=x&eauth=auto", name="POST /login, a form", media=FORM, main=True)
    post("/login", "username: saltdev\npassword: x\neauth: auto\n", name="POST /login, YAML", media=YAML)
    post("/login", WRONG, name="POST /login, a wrong password")
    post("/login", {"username": "saltdev", "eauth": "auto"}, name="POST /login, no password")
    post("/login", with_(CRED, eauth="nosuch"), name="POST /login, unknown eauth")
    post("/login", {}, name="POST /login, an empty object")
    post("/login", with_(CRED, username="nobody"), name="POST /login, a name without rules")
    post("/login", json.dumps(CRED), name="POST /login, JSON as text/plain", media=TEXT)
    form = "username=saltdev&password=x&eauth=auto"
    post("/login", form, name="POST /login, a form as text/plain", media=TEXT, ours=(400, ""))
    post("/login?" + form, None, name="POST /login, credentials in the URL", ours=(400, ""))
    post("/login/x", CRED)
    for value in ([], ["a"], "a", 5, None):
        text = json.dumps(value)
        post("/login", text, name=f"POST /login, {text}", ours=(400, ""))
    post("/login", CRED, name="POST /login, HTML wanted", accept=HTML)
    get("/login/x")
    get("/login?x=1", ours=(200, "Please log in"))
    post("/logout", None, "once", name="POST /logout", media="", main=True, ours=(200, "cleared"))
    post("/logout", None, name="POST /logout without a session")
    post("/logout?x=1", None, "once", name="POST /logout with a query", media="", ours=(200, "cleared"))
    post("/logout/x", None, "admin", media="")
    get("/logout", "admin", ours=(405, ""))
    post("/token", CRED, main=True)
    post("/token", [CRED, LIMITED], name="POST /token, two", ours=(200, "'name': 'limited'"))
    post("/token", {"username": "saltdev"}, name="POST /token, keys missing")
    post("/token", [], name="POST /token, none")
    post("/token", WRONG, name="POST /token, a wrong password")
    post("/token", None, name="POST /token, no body", ours=(400, ""))
    get("/token", ours=(200, "Welcome"))
    get("/token/x")
    post("/token", "5", name="POST /token, a number", ours=(400, ""))
    for token in ("0" * 40, "zz", "f" * 64):
        get("/jobs", headers={"X-Auth-Token": token}, name=f"GET /jobs, token {token[:4]}")
    get("/jobs")
    get("/jobs", headers={"Authorization": "Bearer " + "f" * 64}, name="GET /jobs, a bearer")


def _places(get, post):
    get("/minions/ms-0", "admin", main=True)
    get("/minions/ms-0", "limited")
    get("/minions/ms-*", "admin")
    get("/minions/ms%2D0/", "admin")
    get("/minions?mid=ms-0", "admin")
    get("/minions/nosuch", "admin")
    get("/minions/a/b", "admin")
    get("/minions")
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True)
    post("/minions", [{"tgt": "no*", "fun": "test.ping"}], "admin", name="POST /minions, nobody")
    post("/minions", [{"fun": "test.ping"}], "admin", name="POST /minions without tgt", ours=(400, "tgt"))
    post("/minions", [], "admin", name="POST /minions, none")
    two = [{"tgt": "ms-*", "fun": "test.ping"}, {"tgt": "ms-0", "fun": "test.ping", "client": "runner"}]
    post("/minions", two, "admin", name="POST /minions, two, one with a client")
    post("/minions", None, "admin", name="POST /minions, no body")
    post("/minions/x", two, "admin")
    post("/jobs", [PING], "admin")
    get("/jobs/20200101000000000000", "admin")
    get("/jobs/junk", "admin")
    get("/jobs/junk?timeout=1", "admin")
    get("/jobs/junk/more", "admin", ours=(404, "Nothing matches"))
    for path, method in (
        ("/jobs", "DELETE"), ("/minions", "PUT"), ("/minions/a/b", "PATCH"), ("/hook", "GET"), ("/hook", "HEAD"),
        ("/hook", "DELETE"), ("/stats", "POST"), ("/stats/x", "PUT"), ("/logout", "DELETE"), ("/nosuch", "PUT"),
    ):
        get(path, method=method)
    post("/minions", "<a/>", name="POST /minions without a session, a type that is not read", media="text/xml")
    post("/minions", "[", name="POST /minions without a session, malformed")
    get("/keys", method="DELETE")
    get("/jobs", "limited")
    get("/keys", "admin", main=True)
    get("/keys/nosuch", "admin")
    get("/keys")
    post("/keys", [with_(LIMITED, mid="jerry")], name="POST /keys, not allowed", ours=(401, ""))
    post("/keys", [CRED], name="POST /keys without mid", ours=(400, "mid"))
    post("/keys", "", name="POST /keys, no body", ours=(400, ""))
    post("/hook", {"a": 1}, "admin", main=True)
    post("/hook/some/tag", {"a": 1}, "admin")
    post("/hook", "foo=Foo&foo=2", "admin", name="POST /hook, a form", media=FORM)
    post("/hook", "{", "admin", name="POST /hook, malformed", ours=(400, "JSON"))
    post("/hook", {"a": 1}, "admin", name="POST /hook, a type that is not read", media="text/xml", ours=(406, "Content type"))
    post("/hook", None, "admin", name="POST /hook, no body")
    post("/hook", {"a": 1}, "admin", accept=HTML)
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
