# SPDX-License-Identifier: MIT
"""Rows of the REST interface without a salt-api answer: salt-api would crash, hang or answer differently each time."""

from rest_row import CRED, ECHO, FORM, PING, YAML, Way, with_


def own_rows():
    cherrypy, tornado = Way("rest_cherrypy"), Way("rest_tornado")
    _cherrypy(cherrypy.get, cherrypy.post)
    _tornado(tornado.get, tornado.post)
    return [*cherrypy.rows, *tornado.rows]


def _cherrypy(get, post):
    run = with_(ECHO, **CRED)
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun=test.ping"
    post("/run", "[" * 100_000, name="YAML nested 100,000 deep", media=YAML, ours=(400, ""))
    post("/run", form + "&fun=test.echo", name="a form with two functions", media=FORM, ours=(400, "fun"))
    twice = "&kwarg={a: 1}&kwarg={b: 2}"
    post("/run", form + twice, name="a form with kwarg twice", media=FORM, ours=(400, "kwarg"))
    echo = form.replace("test.ping", "test.echo")
    post("/run", form.encode() + b"&arg=\xff", name="a form that is no UTF-8", media=FORM, ours=(400, "Not UTF-8"))
    post("/run", echo + "&arg=%ff", name="a form with an escape that is no UTF-8", media=FORM, ours=(200, "'ms-0': '\ufffd'"))
    post("/run", b"- \xff", name="YAML that is no UTF-8", media=YAML, ours=(400, ""))
    post("/run", "x" * 1_048_577, name="a body beyond the limit", ours=(413, ""))
    post("/run", [with_(run, arg=[float("inf")])], name="infinity", ours=(400, "JSON"))
    post("/run", [with_(PING, **CRED, tgt_type=None, expr_form="list", tgt="ms-0,ms-1")], name="expr_form", ours=(200, "'ms-1': True"))
    post("/run", [with_(run, client="ssh")], name="ssh without a master", ours=(400, ""))
    get("/minions", "admin", ours=(200, "ms-2.example.org"))
    get("/minions?x=1", "admin", ours=(200, "ms-2.example.org"))
    get("/minions/", "admin", ours=(200, "ms-2.example.org"))
    get("/jobs", "admin", ours=(200, "return"))
    get("/jobs/", "admin", ours=(200, "return"))
    get("/keys/ms-0", "admin", ours=(200, "ms-0"))
    get("/keys/ms-*", "admin", ours=(200, "ms-1"))
    get("/keys/a/b", "admin", ours=(404, "Nothing matches"))
    get("/stats", "admin", ours=(200, "CherryPy Applications"))
    post("/keys", {**CRED, "mid": 'a"; x=b'}, name="POST /keys, quotes in the id", ours=(400, "mid"))
    post("/keys", {"mid": "jerry"}, name="POST /keys, no credentials", ours=(401, "credentials"))
    post("/keys", {"mid": "jerry"}, "admin", name="POST /keys, a session alone", ours=(401, "credentials"))
    post("/hook/a%0Ab", {"a": 1}, "admin", name="POST /hook, a line end", ours=(400, "control"))


def _tornado(get, post):
    form = b"username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun=test.ping"
    post("/run", form + b"&arg=\xff", name="a form that is no UTF-8", media=FORM, ours=(400, "UTF-8"))
    for value in ("null", '"client"', "5", "[5]", "[null]"):
        post("/run", value, name=f"{value} for a list", ours=(400, ""))
    post("/run", None, name="no body", ours=(400, ""))
    post("/run", form + b"&client=runner", name="a form with two clients", media=FORM, ours=(400, "client"))
    post("/run", '[{"arg": [NaN]}]', name="NaN", ours=(400, "JSON"))
    post("/run", [with_(PING, **CRED, expr_form="list", tgt="ms-0,ms-1")], name="expr_form", ours=(200, "'ms-1': True"))
    slow = {"client": "runner", "fun": "test.sleep", "arg": [3], "timeout": 1}
    post("/run", [with_(slow, **CRED)], name="runner that takes longer", ours=(504, ""))
    get("/minions", "admin", ours=(200, "ms-2.example.org"))
    get("/minions/", "admin", ours=(200, "ms-2.example.org"))
    get("/jobs", "admin", ours=(200, "return"))
    get("/jobs/", "admin", ours=(200, "return"))
    post("/hook/a%0Ab", {"a": 1}, "admin", name="POST /hook, a line end", ours=(400, "control"))
