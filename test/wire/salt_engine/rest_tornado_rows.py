# SPDX-License-Identifier: MIT

from rest_row import CRED, ECHO, FORM, HTML, PING, WRONG, YAML, Way, with_


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
    get("/nosuch", ours=(404, ""))
    get("/run", ours=(405, ""))
    get("/", method="PUT", ours=(405, ""))
    post("/jobs", [PING], "admin", ours=(405, ""))
    get("/minions/ms-0", "admin", main=True)
    get("/minions/nosuch", "admin", ours=(404, "No minions matched the target"))
    post("/minions", [{"tgt": "ms-*", "fun": "test.ping"}], "admin", main=True, ours=(202, "'jid'"))
    get("/jobs/abc", "admin", ours=(404, "Cannot contact returner"))
    get("/jobs", ours=(401, "Please log in"))
    post("/hook", {"a": 1}, "admin", main=True)
    post("/hook/a%2Fb%20c", {"a": 1}, "admin")
    post("/hook", {}, name="POST /hook without a token", ours=(401, ""))
    get("/", method="OPTIONS", headers={"Access-Control-Request-Headers": "x-a"}, name="OPTIONS / for a header")


def _tornado_negotiation(get, post):
    get("/", accept=YAML, ours=(200, "return: Welcome"))
    get("/", accept=HTML, ours=(200, "<head>"))
    post("/run", [], name="a body of type text/xml", media="text/xml", ours=(406, ""))
    post("/run", "[", name="malformed JSON", ours=(400, ""))
    form = "username=saltdev&password=x&eauth=auto&client=local&tgt=ms-0&fun="
    post("/run", form + "test.arg&arg=5&arg=true&arg=%20a%0A", name="a form", media=FORM)


def _tornado_logins(get, post):
    get("/login", main=True)
    post("/login", CRED, main=True)
    post("/login", [CRED], name="POST /login, a list", ours=(200, "'user': 'saltdev'"))
    post("/login", WRONG, name="POST /login, a wrong password", ours=(401, ""))
    post("/login", {"username": "saltdev"}, name="POST /login, keys missing", ours=(400, "password"))
    post("/login", '"text"', name='POST /login, "text"', ours=(400, ""))


def _tornado_lowstate(post):
    post("/", [PING], "admin", main=True)
    post("/", [PING], name="POST / without a token", ours=(401, "Please log in"))
    post("/", [with_(PING, **CRED)], name="POST / with credentials alone", ours=(401, "Please log in"))

    def run(name, *chunks, **more):
        post("/run", [with_(chunk, **CRED) for chunk in chunks], name=name, **more)

    post("/run", [with_(PING, **CRED)], main=True)
    run("local_async", with_(PING, client="local_async"), main=True)
    run("runner", {"client": "runner", "fun": "test.arg", "arg": ["a"]}, main=True)
    run("wheel", {"client": "wheel", "fun": "key.list_all"}, ours=(200, "salt/wheel/JID"))
    run("local_batch", with_(PING, client="local_batch", batch="1"), ours=(200, "{'ms-0': True}, {'ms-1': True}"))
    run("client foo", with_(PING, client="foo"), ours=(400, "Invalid Client"))
    run("a text for arg", with_(ECHO, arg="abc"), ours=(200, "'args': ['abc']"))
    two = [with_(PING, **CRED), PING]
    post("/run", two, name="two chunks, the second of nobody", ours=(401, "Failed to authenticate"))
    post("/run", [with_(PING, **WRONG)], name="a wrong password", ours=(401, "Failed to authenticate"))
    post("/run", [PING], "admin", name="POST /run with a token alone")
    post("/run", ["a"], name='["a"] for a list', ours=(400, ""))
