# SPDX-License-Identifier: MIT
"""The behaviour table of the REST interface: requests that salt-api answers, and the responder."""

import dataclasses
import json

from support.api import CRED
from support.salt_master import SECRET

HTML, YAML, FORM, TEXT = "text/html", "application/x-yaml", "application/x-www-form-urlencoded", "text/plain"
LIMITED = {"eauth": "sharedsecret", "username": "limited", "password": SECRET}
WRONG = {"eauth": "sharedsecret", "username": "limited", "password": "wrong"}
PING = {"client": "local", "tgt": "ms-*", "fun": "test.ping"}
ECHO = {"client": "local", "tgt": "ms-0", "fun": "test.arg"}


@dataclasses.dataclass
class Row:
    way: str  # rest_cherrypy or rest_tornado
    name: str  # `way` and a name in it, as the page's table of differences has it
    method: str
    path: str
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    who: str = ""  # whose session the request has: admin, limited, or nobody's
    main: bool = False  # tried on every line of Salt before each change lands; else on the first
    ours: tuple = ()  # where it differs on purpose: the status, and a part of the reply's text

    slow = False

    @property
    def asked(self):
        """What is recorded beside the answer, so that a row that changes is not compared with an old one."""
        body = self.body.decode(errors="replace").replace(SECRET, "SECRET")
        about = [self.method, self.path, self.headers, self.who, body]
        return about if len(body) < 1000 else [*about[:-1], f"{body[:10]}... of {len(body)} characters"]


class Way:
    """Makes the rows of one interface."""

    def __init__(self, way):
        self.way, self.rows = way, []

    def get(self, path, who="", name="", method="GET", accept=None, **more):
        headers = more.pop("headers", {}) | ({"Accept": accept} if accept is not None else {})
        self._add(name or self._name(method, path, who, accept), method, path, headers=headers, who=who, **more)

    def post(self, path, data=None, who="", name="", media="application/json", accept=None, **more):
        """`data` is made JSON unless it is text already."""
        body = data if isinstance(data, (str, bytes)) else b"" if data is None else json.dumps(data)
        headers = more.pop("headers", {}) | ({"Accept": accept} if accept is not None else {})
        if media:
            headers["Content-Type"] = media
        body = body.encode() if isinstance(body, str) else body
        self._add(name or self._name("POST", path, who, accept), "POST", path, body, headers, who, **more)

    def _add(self, name, method, path, body=b"", headers=None, who="", **more):
        self.rows.append(Row(self.way, f"{self.way}: {name}", method, path, body, headers or {}, who, **more))

    @staticmethod
    def _name(method, path, who, accept):
        words = [method, path, f"as {who}" if who else "", f"Accept {accept}" if accept is not None else ""]
        return ", ".join([" ".join(words[:2]), *filter(None, words[2:])])


def with_(low, **more):
    return {**low, **more}


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
    for path in ("/", "//", "/index"):
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


def _negotiation(get):
    for accept in ("*/*", "application/*", "application/json", "application/json; charset=utf-8", YAML):
        get("/", accept=accept, ours=(200, "Welcome"))
    for accept in ("text/plain", "application/vnd.foo+json"):
        get("/", accept=accept)
    get("/", accept=HTML, ours=(200, "This answers as"))
    get("/", accept="application/yaml", ours=(200, "Welcome"))
    get("/", accept="application/xml;q=0.9, application/json;q=0.1", ours=(200, "Welcome"))
    get("/", accept="text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", ours=(200, "This answers as"))
    get("/", accept="application/json;q=0.1, application/x-yaml;q=0.9", ours=(200, "return: Welcome"))
    get("/", accept="application/json, application/x-yaml", ours=(200, "Welcome"))
    get("/", accept="application/json;q=0")
    get("/", accept="application/json;q=abc")


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
    post("/run", form + "&arg=%C3%A4+b%zz", name="a form with escapes", media=FORM)
    runner = "username=saltdev&password=x&eauth=auto&client=runner&fun=test.arg&a=1"
    post("/run", runner, name="a form for a runner", media=FORM)
    for media in ("", "text/xml", "multipart/form-data"):
        post("/run", run, name=f"a body of type {media or 'unknown'}", media=media, ours=(406, "Content type not supported"))
    post("/run", None, name="no body")
    for text in ('[{"a": 1', "\ufeff[]", "[] x"):
        post("/run", text, name=f"malformed JSON {text!r}", ours=(400, ": byte "))
    for text in ("a: [", "\ta: 1", "a: 1\na: 2\n", "--- 1\n--- 2\n", "!!python/object:os.system {}"):
        post("/run", text, name=f"malformed YAML {text!r}", media=YAML, ours=(400, ""))
    post("/run", b'["\xff"]', name="bytes that are no UTF-8", ours=(400, ""))
    gzip = {"Content-Encoding": "gzip"}
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
    run("runner that is not there", {"client": "runner", "fun": "nosuch.fun"}, ours=(400, "'nosuch.fun' is not available."))
    run("runner_async", {"client": "runner_async", "fun": "test.arg"})
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, main=True)
    run("wheel_async", {"client": "wheel_async", "fun": "key.list_all"})
    run("nobody matches", with_(PING, tgt="no*"))
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
    for value in ([], ["a"], "a", 5, None):
        text = json.dumps(value)
        post("/login", text, name=f"POST /login, {text}", ours=(400, ""))
    post("/login", CRED, name="POST /login, HTML wanted", accept=HTML)
    get("/login/x")
    get("/login?x=1", ours=(200, "Please log in"))
    post("/logout", None, "once", name="POST /logout", media="", main=True, ours=(200, "cleared"))
    post("/logout", None, name="POST /logout without a session")
    get("/logout", "admin", ours=(405, ""))
    post("/token", CRED, main=True)
    post("/token", [CRED, LIMITED], name="POST /token, two", ours=(200, "'name': 'limited'"))
    post("/token", {"username": "saltdev"}, name="POST /token, keys missing")
    post("/token", [], name="POST /token, none")
    post("/token", "5", name="POST /token, a number", ours=(400, ""))
    for token in ("0" * 40, "zz", "f" * 64):
        get("/jobs", headers={"X-Auth-Token": token}, name=f"GET /jobs, token {token[:4]}")
    get("/jobs")
    get("/jobs", headers={"Authorization": "Bearer " + "f" * 64}, name="GET /jobs, a bearer")


def _places(get, post):
    get("/minions/ms-0", "admin", main=True)
    get("/minions/ms-0", "limited")
    get("/minions/nosuch", "admin")
    get("/minions/a/b", "admin")
    get("/minions")
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True)
    post("/minions", [{"tgt": "no*", "fun": "test.ping"}], "admin", name="POST /minions, nobody")
    post("/minions", [{"fun": "test.ping"}], "admin", name="POST /minions without tgt", ours=(400, "tgt"))
    post("/minions", [], "admin", name="POST /minions, none")
    get("/jobs/20200101000000000000", "admin")
    get("/jobs/junk", "admin")
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
    post("/hook", {}, name="POST /hook without a session")
    get("/hook", "admin")
    get("/stats")
    get("/run", ours=(200, "Welcome"))
    for path in ("/run", "/app", "/nosuch"):
        headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
        get(path, method="OPTIONS", headers=headers, ours=(200, "") if path == "/app" else ())
    for path in ("/", "/login", "/minions", "/jobs", "/keys", "/hook", "/stats", "/token", "/logout"):
        headers = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
        get(path, method="OPTIONS", headers=headers, ours=(200, ""))


def tornado():
    way = Way("rest_tornado")
    get, post = way.get, way.post
    get("/", main=True)
    get("/", method="HEAD", ours=(200, ""))
    get("/nosuch", ours=(404, ""))
    get("/login/", ours=(404, ""))
    get("/logout", ours=(404, ""))
    get("/run", ours=(405, ""))
    get("/hook", "admin", ours=(405, ""))
    get("/", method="PUT", ours=(405, ""))
    for accept in ("*/*", "application/*", "application/json"):
        get("/", accept=accept)
    get("/", accept=YAML, ours=(200, "return: Welcome"))
    for accept in (HTML, "application/xml"):
        get("/", accept=accept, ours=(406, ""))
    get("/login", main=True)
    post("/login", CRED, main=True)
    post("/login", "username=saltdev&password=x&eauth=auto", name="POST /login, a form", media=FORM)
    post("/login", "username: saltdev\npassword: x\neauth: auto\n", name="POST /login, YAML", media=YAML)
    post("/login", LIMITED, name="POST /login, limited")
    post("/login", WRONG, name="POST /login, a wrong password", ours=(401, ""))
    post("/login", {"username": "saltdev"}, name="POST /login, keys missing", ours=(400, "password"))
    for text in ("{}", '"text"', "null", "5"):
        post("/login", text, name=f"POST /login, {text}", ours=(400, ""))
    post("/", [PING], "admin", main=True)
    post("/", PING, "admin", name="POST /, one object")
    post("/", [PING, with_(ECHO, arg=["a"])], "admin", name="two chunks")
    post("/", [PING], name="POST / without a token", ours=(401, "Please log in"))
    post("/run", [with_(PING, **CRED)], main=True)
    post("/run", [with_(PING, **CRED, tgt="no*")], name="nobody matches")
    post("/run", [with_(PING, **CRED, client="local_async")], name="local_async", main=True)
    post("/run", [with_(PING, **CRED, client="local_async", tgt="no*")], name="local_async, nobody matches")
    post("/run", [with_(CRED, client="runner", fun="test.arg", arg=["a"])], name="runner", main=True)
    post("/run", [with_(CRED, client="runner_async", fun="test.arg")], name="runner_async")
    post("/run", [with_(CRED, client="runner", fun="nosuch.fun")], name="runner that is not there")
    for client in ("foo", "caller", 5):
        post("/run", [with_(PING, **CRED, client=client)], name=f"client {client}", ours=(400, "Invalid Client"))
    post("/run", [with_(PING, **WRONG)], name="a wrong password", ours=(401, "Failed to authenticate"))
    post("/run", [with_(PING, **LIMITED)], name="not allowed", ours=(401, "Failed to authenticate"))
    post("/run", [PING], name="no credentials", ours=(401, "Failed to authenticate"))
    post("/run", [], name="an empty list")
    for value in ([{}], {}, ["a"], [[]]):
        post("/run", value, name=f"{json.dumps(value)} for a list", ours=(400, ""))
    post("/run", "[", name="malformed JSON", ours=(400, ""))
    post("/run", [], name="a body of type text/xml", media="text/xml", ours=(406, ""))
    get("/minions/ms-0", "admin", main=True)
    get("/minions/nosuch", "admin", ours=(404, "No minions matched the target"))
    get("/minions/ms-0", "limited", ours=(401, "Failed to authenticate"))
    get("/minions", ours=(401, "Please log in"))
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True, ours=(202, "'jid'"))
    post("/minions", [PING], "admin", name="POST /minions, a client", ours=(400, ""))
    get("/jobs/abc", "admin", ours=(404, "Cannot contact returner"))
    get("/jobs", ours=(401, "Please log in"))
    post("/hook", {"a": 1}, "admin", main=True)
    post("/hook/a%2Fb%20c", {"a": 1}, "admin")
    post("/hook", {}, name="POST /hook without a token", ours=(401, ""))
    get("/", method="OPTIONS", headers={"Access-Control-Request-Headers": "x-a"}, name="OPTIONS / for a header")
    get("/", method="OPTIONS", ours=(204, ""))
    return way.rows


def all_rows():
    return [*cherrypy(), *tornado()]
