# SPDX-License-Identifier: MIT

import json

from rest_row import CRED, ECHO, FORM, HTML, PING, SECRET, WRONG, YAML, Way, with_


def tornado():
    way = Way("rest_tornado")
    get, post = way.get, way.post
    _tornado_places(get, post)
    _tornado_negotiation(get, post)
    _tornado_logins(get, post)
    _tornado_lowstate(post)
    return way.rows


def _tornado_places(get, post):
    get("/", main=True)
    get("/", method="HEAD", ours=(200, ""))
    for path in ("/nosuch", "/login/", "/keys", "/stats", "/token", "/hookx", "//"):
        get(path, ours=(404, ""))
    for path in ("/run", "/logout"):
        get(path, ours=(405, ""))
    get("/hook", "admin", ours=(405, ""))
    for method in ("PUT", "DELETE", "PATCH"):
        get("/", method=method, ours=(405, ""))
    for path in ("/jobs", "/jobs/x", "/minions/x"):
        post(path, [PING], "admin", ours=(405, ""))
    get("/minions/ms-0", "admin", main=True)
    get("/minions/nosuch", "admin", ours=(404, "No minions matched the target"))
    get("/minions", ours=(401, "Please log in"))
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True, ours=(202, "'jid'"))
    for jid in ("abc", "20200101000000000000"):
        get(f"/jobs/{jid}", "admin", ours=(404, "Cannot contact returner"))
    get("/jobs", ours=(401, "Please log in"))
    post("/hook", {"a": 1}, "admin", main=True)
    post("/hook/a%2Fb%20c", {"a": 1}, "admin")
    post("/hook", None, "admin", name="POST /hook, no body", media="", ours=(200, "True"))
    post("/hook", "<a/>", "admin", name="POST /hook, a type that is not read", media="text/xml", ours=(406, ""))
    post("/hook", {}, name="POST /hook without a token", ours=(401, ""))
    get("/", method="OPTIONS", headers={"Access-Control-Request-Headers": "x-a"}, name="OPTIONS / for a header")


def _tornado_negotiation(get, post):
    for accept in (YAML, "text/yaml", "application/json;q=0, application/x-yaml"):
        get("/", accept=accept, ours=(200, "return: Welcome"))
    get("/", accept=HTML, ours=(200, "<head>"))
    get("/", accept="application/xml", ours=(406, ""))
    post("/run", [], name="a body of type text/xml", media="text/xml", ours=(406, ""))
    post("/run", [], name="a body of an unknown type", media="", ours=(406, ""))
    post("/run", [], name="JSON in another charset", media="application/json; charset=latin-1", ours=(406, ""))
    post("/run", "[", name="malformed JSON", ours=(400, ""))
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun="
    post("/run", form + "test.arg&arg=5&arg=true&arg=%20a%0A", name="a form", media=FORM)


def _tornado_logins(get, post):
    get("/login", main=True)
    post("/login", CRED, main=True)
    form = "username=saltdev&password=x&eauth=auto"
    post("/login", [CRED], name="POST /login, a list", ours=(200, "'user': 'saltdev'"))
    shared = {"eauth": "sharedsecret", "username": "limited", "sharedsecret": SECRET}
    post("/login", shared, name="POST /login, sharedsecret", ours=(200, "'user': 'limited'"))
    post("/login", WRONG, name="POST /login, a wrong password", ours=(401, ""))
    post("/login", with_(CRED, eauth="nosuch"), name="POST /login, unknown eauth", ours=(401, ""))
    post("/login", {"username": "saltdev"}, name="POST /login, keys missing", ours=(400, "password"))
    post("/login?" + form, None, name="POST /login, credentials in the URL", ours=(400, ""))
    for text in ("{}", '"text"', "null", "5"):
        post("/login", text, name=f"POST /login, {text}", ours=(400, ""))


def _tornado_lowstate(post):
    post("/", [PING], "admin", main=True)
    post("/", [PING], name="POST / without a token", ours=(401, "Please log in"))
    post("/", [with_(PING, **CRED)], name="POST / with credentials alone", ours=(401, "Please log in"))
    post("/", [PING], "limited", ours=(401, "Failed to authenticate"))

    def run(name, *chunks, **more):
        post("/run", [with_(chunk, **CRED) for chunk in chunks], name=name, **more)

    post("/run", [with_(PING, **CRED)], main=True)
    run("local_async", with_(PING, client="local_async"), main=True)
    run("runner", {"client": "runner", "fun": "test.arg", "arg": ["a"]}, main=True)
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, ours=(200, "salt/wheel/JID"))
    run("local_batch", with_(PING, client="local_batch", batch="1"), ours=(200, "{'ms-0': True}, {'ms-1': True}"))
    for client in ("foo", "caller", 5):
        run(f"client {client}", with_(PING, client=client), ours=(400, "Invalid Client"))
    run("two chunks, the second of no client", PING, with_(PING, client="foo"), ours=(400, "lowstate chunk 1"))
    run("a text for arg", with_(ECHO, arg="abc"), ours=(200, "'args': ['abc']"))
    two = [with_(PING, **CRED), PING]
    post("/run", two, name="two chunks, the second of nobody", ours=(401, "Failed to authenticate"))
    post("/run", [with_(PING, **WRONG)], name="a wrong password", ours=(401, "Failed to authenticate"))
    post("/run", [PING], name="no credentials", ours=(401, "Failed to authenticate"))
    post("/run", [PING], "admin", name="POST /run with a token alone")
    for value in ([{}], {}, ["a"], [[]]):
        post("/run", value, name=f"{json.dumps(value)} for a list", ours=(400, ""))
