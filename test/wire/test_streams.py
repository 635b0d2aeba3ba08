# SPDX-License-Identifier: MIT
"""Streams of events of the real program: each row of what Salt's modules do, over a port of its own and over nginx."""

import json
import signal
import threading
import time

import pytest

from support import daemon as daemons
from support.api import JSON
from support.daemon import merge
from support.process import PATIENCE, wait_until
from support.rest import api_of, login, serving, session
from support.streams import BINARY, CLOSE, PING, PONG, READY, TEXT, Sse, WebSocket, about, hook, tagged, until

CANARY = "canary-7f3a"
LIMITED = {"file": {"saltdev": [".*", "@runner", "@wheel", "@jobs"], "limited": ["test.echo"], "nobody": []}}


@pytest.fixture
def serve(start):
    """Starts a module on a port of its own; its Api, and the daemon."""

    def starter(module, section=None, **more):
        changes = serving(module, **(section or {}))
        daemon = start(merge({**changes, "external_auth": LIMITED}, more))
        return api_of(changes, module), daemon

    return starter


@pytest.fixture(params=["rest_cherrypy", "rest_tornado"])
def module(request):
    return request.param


def run(api, token, client="local", fun="test.ping", **more):
    low = {"client": client, "fun": fun, **({"tgt": "*"} if client.startswith("local") else {}), **more}
    reply = api.request("POST", "/", json.dumps(low), {**JSON, **session(token)})
    assert reply.status == 200, reply
    return reply.ret[0]


def all_path(module, token):
    return f"/ws/{token}" if module == "rest_cherrypy" else f"/all_events/{token}"


def took(action):
    since = time.monotonic()
    action()
    return time.monotonic() - since


def in_one_of_some_tries(is_quick, tries=4):
    """A busy host makes one slow."""
    return any(is_quick() for _ in range(tries))


def ready(api, path):
    """A WebSocket that shows events."""
    socket = WebSocket(api, path)
    assert socket.status == 101, socket.body
    socket.ready()
    if path.startswith("/ws"):
        assert socket.text() == "server received message"
    elif path.startswith("/all_events"):  # nothing says that it was heard, but frames are heard in their order
        socket.send(b"heard?", PING)
        assert socket.frame() == (PONG, b"heard?")
    return socket


def test_events_come_byte_for_byte(serve, module):
    api, _ = serve(module)
    token = login(api)
    connection = api.connection()
    connection.request("GET", "/events", headers=session(token))
    response = connection.getresponse()
    kind = "text/event-stream" + (";charset=utf-8" if module == "rest_cherrypy" else "")
    head = {name.lower(): value for name, value in response.getheaders()}
    assert (response.status, head["content-type"], head["cache-control"]) == (200, kind, "no-cache")
    assert head["transfer-encoding"] == "chunked" and "set-cookie" not in head and "content-length" not in head
    assert response.readline() == b"retry: 400\n"
    run(api, token)
    lines = [response.readline() for _ in range(4)]
    assert lines[0].startswith(b"tag: salt/job/") and lines[2].startswith(b"id: ") and lines[3] == b"\n"
    assert lines[1].startswith(b'data: {"data": {') and lines[1].endswith(lines[0][5:-1].join([b'"tag": "', b'"}\n']))
    connection.close()


def test_all_that_happens_is_in_a_stream_once_and_in_order(serve, module):
    api, _ = serve(module)
    token = login(api)
    events = Sse(api, token)
    sockets = [ready(api, all_path(module, token)) for _ in range(2)]
    run(api, token)
    jid = run(api, token, "local_async")["jid"]
    heard = []
    while sum(f"{jid}/ret/" in event["tag"] for event in heard) < 3:
        heard.append(events.event())
    hook(api, token, "/hook/last")
    heard += until(events, tagged("/hook/last"))
    tags = [event["tag"] for event in heard]
    mine = [tag for tag in tags if jid in tag]
    assert mine[0] == f"salt/job/{jid}/new" and sorted(mine[1:]) == [f"salt/job/{jid}/ret/ms-{n}" for n in range(3)]
    assert len(set(events.ids)) == len(heard)
    for socket in sockets:
        texts = socket.texts_until("/hook/last")
        if module == "rest_cherrypy":
            assert all(text.startswith("data: ") and text.endswith("}\n\n") for text in texts)
            texts = [text[6:-2] for text in texts]
        assert [json.loads(text) for text in texts] == heard


def test_a_listener_who_comes_back_goes_on_where_he_was(serve, module):
    api, _ = serve(module)
    token = login(api)
    first = Sse(api, token)
    run(api, token)
    first.event()
    first.close()
    run(api, token)
    again = Sse(api, token, headers={"Last-Event-ID": first.ids[0]})
    tags = [again.event()["tag"] for _ in range(7)]
    assert [tag.split("/")[3] for tag in tags] == ["ret"] * 3 + ["new"] + ["ret"] * 3
    stranger = Sse(api, token, headers={"Last-Event-ID": "0123456789abcdef-5"})
    lost = stranger.event()
    assert (lost["tag"], lost["data"]["last_event_id"]) == ("rest_fcgi/events/lost", "0123456789abcdef-5")
    assert stranger.ids == [None]
    socket = WebSocket(api, f"{all_path(module, token)}?last_event_id={first.ids[0]}").ready()
    texts = socket.texts_until("/new")
    assert sum("/ret/" in text for text in texts) == 3


def test_tags_choose(serve, module):
    api, _ = serve(module)
    token = login(api)
    events = Sse(api, token, "/events?tag=salt/netapi/*&tag=salt/job/*/ret/ms-1")
    run(api, token)
    hook(api, token, "/hook/x")
    assert [event["tag"].split("/")[-1] for event in (events.event(), events.event())] == ["ms-1", "x"]


def test_a_logout_ends_streams_within_a_second_also_on_another_process(serve, module):
    api, daemon = serve(module)
    elsewhere, _ = serve("rest_cherrypy", cachedir=str(daemon.directory / "cache"))
    other = login(api)
    kept = Sse(api, other)

    def seconds_after_a_logout():
        token = login(api)
        events, sockets = Sse(api, token), [ready(api, all_path(module, token))]
        if module == "rest_tornado":
            sockets.append(ready(api, f"/formatted_events/{token}"))
        assert elsewhere.request("POST", "/logout", "", session(token)).status == 200
        closed = []
        seconds = took(lambda: closed.extend(socket.closed() for socket in sockets))
        assert set(closed) == {(4401 if module == "rest_cherrypy" else 1008, "The session has ended.")}
        before = [event["tag"] for event in iter(events.event, None)]  # of asking for the minions of the view
        assert all(tag.startswith("salt/run/") for tag in before)
        return seconds

    assert in_one_of_some_tries(lambda: seconds_after_a_logout() < 1.2, 20)
    run(api, other)
    assert until(kept, about("test.ping"))[-1]["tag"].endswith("/new")


def test_streams_of_a_user_whose_tokens_are_ended_close(serve, module):
    api, daemon = serve(module)
    others = ready(api, all_path(module, login(api, username="limited")))
    mine = ready(api, all_path(module, login(api)))
    done = daemons.run("--config", daemon.config_path, "--revoke", "saltdev")
    assert done.returncode == 0, done.stderr
    assert mine.closed() == (4401 if module == "rest_cherrypy" else 1008, "The session has ended.")
    assert others.silent()


def test_salt_issue_53742_a_stream_ends_when_its_token_expires(serve, module):
    api, _ = serve(module, token_expire=10)

    def ends_in_time():
        begun = time.monotonic()
        token = login(api)
        events, socket = Sse(api, token), ready(api, all_path(module, token))
        late = took(lambda: socket.closed())
        assert time.monotonic() - begun > 9
        assert events.event() is None
        return late < 10.5

    assert in_one_of_some_tries(ends_in_time)


def test_there_may_be_so_many_streams(serve, module):
    api, _ = serve(module, rest_fcgi={"max_streams": 3, "max_streams_per_user": 2})
    token, limited = login(api), login(api, username="limited")
    mine = [Sse(api, token), ready(api, all_path(module, token))]
    assert Sse(api, token).status == 503
    refused = WebSocket(api, all_path(module, token))
    assert refused.status == 503 and "max_streams_per_user" in refused.body
    theirs = Sse(api, limited)
    assert theirs.status == 200 and Sse(api, limited).status == 503
    for stream in mine:
        stream.close()
    wait_until(lambda: Sse(api, token).status == 200, "a stream that is gone gives up its place")


def test_a_reload_keeps_streams_and_a_stop_ends_them(serve, module):
    api, daemon = serve(module, rest_fcgi={"shutdown_timeout": 600})
    token = login(api)
    events, socket = Sse(api, token), ready(api, all_path(module, token))
    daemon.kill(1)
    daemon.await_log("configuration reread")
    run(api, token)
    assert events.event()["tag"].endswith("/new") and socket.text()
    since = time.monotonic()
    stopped = threading.Thread(target=daemon.stop)
    stopped.start()
    assert socket.closed()[0] == 1001
    while events.event():
        pass
    stopped.join()
    assert time.monotonic() - since < PATIENCE


def test_field_a12_of_a_hooks_body_the_value_of_a_secret_is_hidden_and_no_more(serve):
    api, _ = serve("rest_cherrypy")
    token = login(api)
    events = Sse(api, token)
    form, plain = "application/x-www-form-urlencoded", "text/plain"
    for number, (media_type, body, shown) in enumerate([
        (form, "a=1&password=hid;den&b=2", "a=1&password=[hidden]&b=2"),
        (plain, "password=hidden; b jwt=hidden c", "password=[hidden]; b jwt=[hidden] c"),
        (plain, "https://user:hidden@host/ <token>hidden</token>", "https://user:[hidden]@host/ <token>[hidden]</token>"),
    ]):
        reply = api.request("POST", f"/hook/{number}", body, {"Content-Type": media_type, **session(token)})
        assert reply.status == 200, reply
        assert until(events, tagged(f"/hook/{number}"))[-1]["data"]["body"] == shown


def test_what_a_limited_user_may_not_see_never_comes(serve, module):
    api, _ = serve(module)
    token, limited = login(api), login(api, username="limited")
    events = Sse(api, limited)
    views = [all_path(module, limited)] + (["/ws/%s?format_events" % limited] if module == "rest_cherrypy" else [])
    sockets = [ready(api, path) for path in views]
    everything = Sse(api, token)
    run(api, token, "local", "test.echo", arg=[CANARY])
    run(api, token, "local_async", "test.echo", arg=[CANARY])
    run(api, token, "runner", "test.arg", arg=[CANARY])
    run(api, token, "wheel", "key.list_all")
    hook(api, token, "/hook/x", x=CANARY, password="hidden-9c1e")
    all_that_happened = str(until(everything, tagged("/hook/x")))
    assert CANARY in all_that_happened and "hidden-9c1e" not in all_that_happened and token not in all_that_happened
    own = run(api, limited, "local", "test.echo", arg=["mine"], tgt="ms-0")
    assert own == {"ms-0": "mine"}
    heard = until(events, tagged("/ret/ms-0"))
    assert [event["data"]["user"] for event in heard] == ["limited"] * 2 and CANARY not in str(heard)
    for socket in sockets:
        texts = [socket.text(), socket.text()]
        assert "mine" in texts[-1]
        assert CANARY not in str(texts) and "saltdev" not in str(texts)


def test_who_has_no_rule_sees_nothing_unless_everybody_does(serve):
    api, _ = serve("rest_cherrypy")
    nobody = login(api, username="nobody")
    assert Sse(api, nobody).status == 401
    assert WebSocket(api, f"/ws/{nobody}").status == 401


def test_everybody_sees_everything_where_that_is_on(serve):
    api, _ = serve("rest_cherrypy", rest_fcgi={"events": "everybody"})
    token, nobody = login(api), login(api, username="nobody")
    events = Sse(api, nobody)
    run(api, token, "local", "test.echo", arg=[CANARY])
    assert CANARY in str(until(events, tagged("/ret/ms-2")))


def test_nobody_else_is_served_by_streams(serve, module):
    api, _ = serve(module)
    assert Sse(api, "").status == 401 and Sse(api, "ab" * 32).status == 401
    assert WebSocket(api, all_path(module, "ab" * 32)).status == 401


def test_no_token_of_a_url_is_in_a_log(serve, module, directory):
    api, daemon = serve(module, log_level="debug", **({"section": {"log_access_file": str(directory / "access")}} if module == "rest_cherrypy" else {}))
    token = login(api)
    ready(api, all_path(module, token)).close()
    WebSocket(api, all_path(module, token) + "/x").close()
    WebSocket(api, all_path(module, "ab" * 32)).close()
    assert "/***" in daemon.log() and token not in daemon.log() and "abab" not in daemon.log()


def test_websockets_of_rest_cherrypy_answer(serve):
    api, _ = serve("rest_cherrypy")
    token = login(api)
    socket = WebSocket(api, "/ws", token)
    assert socket.status == 101 and socket.headers["sec-websocket-version"] == "13"
    socket.send("hello")
    assert socket.frame() == (TEXT, b"server received message")
    socket.send(b"hello", BINARY)
    assert socket.frame() == (TEXT, b"server received message")
    socket.send(b"ping", PING)
    assert socket.frame() == (PONG, b"ping")
    run(api, token)
    assert socket.silent()
    socket.send(b"\x03\xe8bye", CLOSE)
    assert socket.closed() == (1000, "bye")
    for what, code in (((b"\xff", BINARY), 1003), ((b"\xff", TEXT), 1007), ((b"", 3), 1002)):
        broken = WebSocket(api, f"/ws/{token}")
        broken.send(*what)
        assert broken.closed()[0] == code
    unmasked = WebSocket(api, f"/ws/{token}")
    unmasked.send("x", mask=False)
    assert unmasked.closed()[0] == 1002


def test_what_was_said_before_a_close_is_answered_before_it(serve):
    api, _ = serve("rest_cherrypy")
    socket = WebSocket(api, "/ws", login(api))
    socket.send_at_once((b"first", TEXT), (b"ping", PING), (b"second", TEXT), (b"\x03\xe8bye", CLOSE))
    assert sorted(socket.frame() for _ in range(3)) == [(TEXT, b"server received message")] * 2 + [(PONG, b"ping")]
    assert socket.closed() == (1000, "bye")


def test_websockets_of_rest_tornado_say_nothing_but_events(serve):
    api, _ = serve("rest_tornado")
    token = login(api)
    socket = WebSocket(api, f"/all_events/{token}")
    for text in ("x", "", READY + "\n", READY.upper()):
        socket.send(text)
    socket.send(READY.encode(), BINARY)
    run(api, token)
    assert socket.silent()
    socket.send(READY[:5], fin=False)
    socket.send(READY[5:], opcode=0)
    socket.send(b"x", PING)
    assert socket.frame() == (PONG, b"x")
    run(api, token)
    assert json.loads(socket.text())["tag"].endswith("/new")
    socket.send("x" * 65537)
    assert socket.closed()[0] == 1009


def view_of(text, module):
    if module == "rest_tornado":
        assert text.endswith("\n\n")
    return json.loads(text)


def test_the_formatted_view_shows_jobs_as_they_return(serve, module):
    api, _ = serve(module)
    token = login(api)
    path = f"/ws/{token}?format_events" if module == "rest_cherrypy" else f"/formatted_events/{token}"
    socket = ready(api, path)
    if module == "rest_tornado":
        minions = view_of(socket.text(), module)["minions"]
        assert sorted(minions) == ["ms-0", "ms-1", "ms-2"] and minions["ms-1"]["grains"]["id"] == "ms-1"
    jid = run(api, token, "local_async", "test.echo", tgt="ms-0", arg=["x"])["jid"]
    first, second = (view_of(socket.text(), module)["jobs"][jid] for _ in range(2))
    assert first["minions"] == {"ms-0": {"success": False}} and first["state"] == "running"
    assert (first["fun"], first["tgt"], first["tgt_type"], first["jid"]) == ("test.echo", "ms-0", "glob", jid)
    assert second["minions"] == {"ms-0": {"success": True, "return": "x", "retcode": 0}} and second["state"] == "complete"
    failing = run(api, token, "local_async", "test.false", tgt="ms-0")["jid"]
    states = [view_of(socket.text(), module)["jobs"][failing]["state"] for _ in range(2)]
    assert states == ["running", "complete"]
    run(api, token, "runner", "manage.up")
    run(api, token, "local_async", "grains.items", tgt="ms-1")
    texts = socket.texts_until('"minions": [' if module == "rest_cherrypy" else '{"minions": {"ms-0"')
    minions = view_of(texts[-1], module)["minions"]
    named = {one["id"]: one for one in minions} if module == "rest_cherrypy" else minions
    assert named["ms-1"]["grains"]["id"] == "ms-1"


def test_the_formatted_view_shows_minions_that_a_reload_adds_and_removes(serve, module):
    api, daemon = serve(module)
    token = login(api)
    socket = ready(api, f"/ws/{token}?format_events" if module == "rest_cherrypy" else f"/formatted_events/{token}")

    def reloaded_with(*ids):
        minions = {**dict.fromkeys(daemons.MINIONS), **{minion: {"grains": {"role": "web"}} for minion in ids}}
        daemon.configure(merge({**serving(module, port=api.port), "external_auth": LIMITED}, {"rest_fcgi": {"embedded": {"minions": minions}}}))
        daemon.kill(signal.SIGHUP)

    def frame_with(is_wanted):
        while True:
            found = view_of(socket.text(), module).get("minions")
            by_id = {one["id"]: one for one in found} if isinstance(found, list) else found
            if found is not None and is_wanted(by_id):
                return by_id

    reloaded_with("new-0", "new-1")
    shown = frame_with(lambda minions: all("grains" in minions.get(one, {}) for one in ("new-0", "new-1")))
    assert shown["new-1"]["grains"]["role"] == "web" and shown["new-1"]["grains"]["id"] == "new-1"
    reloaded_with("new-1")
    frame_with(lambda minions: "new-0" not in minions and "grains" in minions["new-1"])
    reloaded_with()
    frame_with(lambda minions: "new-1" not in minions)


def test_who_may_not_ask_for_grains_has_no_formatted_view_of_rest_tornado(serve):
    api, _ = serve("rest_tornado")
    socket = WebSocket(api, f"/formatted_events/{login(api, username='limited')}")
    assert socket.status == 101
    assert socket.ready().closed()[0] == 1008


def test_fastcgi_has_events_and_says_where_websockets_are(start, front):
    daemon = start({"rest_fcgi": {"netapi": ["rest_cherrypy"]}})
    nginx = front(daemon)
    token = login(nginx)
    events = Sse(nginx, token)
    run(nginx, token)
    assert events.event()["tag"].endswith("/new")
    assert nginx.request("HEAD", "/events", headers=session(token)).headers["content-type"].startswith("text/event-stream")
    assert nginx.request("GET", "/events?token=x", headers=session(token)).status == 400
