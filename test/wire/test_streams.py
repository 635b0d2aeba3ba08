# SPDX-License-Identifier: MIT

import json
import time

import pytest

from support import daemon as daemons
from support.api import JSON
from support.daemon import merge
from support.rest import api_of, login, serving, session
from support.streams import PING, PONG, Sse, WebSocket, about, hook, tagged, until, until_end

CANARY = "canary-7f3a"
LIMITED = {"file": {"saltdev": [".*", "@runner", "@wheel", "@jobs"], "limited": ["test.echo"], "nobody": []}}


@pytest.fixture
def serve(start):
    """Starts a module on a port. Returns the Api of the port and the daemon."""

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
    """Repeats a check several times, because a busy host can delay a try."""
    return any(is_quick() for _ in range(tries))


def ready(api, path):
    """Opens a WebSocket and waits until the server sends events."""
    socket = WebSocket(api, path)
    assert socket.status == 101, socket.body
    socket.ready()
    if path.startswith("/ws"):
        assert socket.text() == "server received message"
    elif path.startswith("/all_events"):  # the server handles frames in order and does not answer the ready message
        socket.send(b"heard?", PING)
        assert socket.frame() == (PONG, b"heard?")
    return socket


def test_a_stream_has_every_event_once_and_in_order(serve, module):
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


def test_logout_closes_streams_of_all_processes_within_a_second(serve, module):
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
        before = [event["tag"] for event in until_end(events)]  # the view asks for minions first
        assert all(tag.startswith("salt/run/") for tag in before)
        return seconds

    assert in_one_of_some_tries(lambda: seconds_after_a_logout() < 1.2, 20)
    run(api, other)
    assert until(kept, about("test.ping"))[-1]["tag"].endswith("/new")


def test_revoke_closes_the_streams_of_the_user(serve, module):
    api, daemon = serve(module)
    others = ready(api, all_path(module, login(api, username="limited")))
    mine = ready(api, all_path(module, login(api)))
    done = daemons.run("--config", daemon.config_path, "--revoke", "saltdev")
    assert done.returncode == 0, done.stderr
    assert mine.closed() == (4401 if module == "rest_cherrypy" else 1008, "The session has ended.")
    assert others.silent()


def test_salt_issue_53742_a_stream_ends_when_its_token_expires(serve):
    api, _ = serve("rest_cherrypy", token_expire=3)

    def ends_in_time():
        begun = time.monotonic()
        token = login(api)
        events, socket = Sse(api, token), ready(api, f"/ws/{token}")
        late = took(lambda: socket.closed())
        assert time.monotonic() - begun > 2
        assert events.event() is None
        return late < 3.5

    assert in_one_of_some_tries(ends_in_time)


def test_a_limited_user_receives_the_events_of_own_jobs_only(serve, module):
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


def test_the_formatted_view_shows_the_state_of_jobs(serve, module):
    api, _ = serve(module)
    token = login(api)
    path = f"/ws/{token}?format_events" if module == "rest_cherrypy" else f"/formatted_events/{token}"
    socket = ready(api, path)
    if module == "rest_tornado":
        minions = json.loads(socket.text())["minions"]
        assert sorted(minions) == ["ms-0", "ms-1", "ms-2"] and minions["ms-1"]["grains"]["id"] == "ms-1"
    jid = run(api, token, "local_async", "test.echo", tgt="ms-0", arg=["x"])["jid"]
    first, second = (json.loads(socket.text())["jobs"][jid] for _ in range(2))
    assert first["minions"] == {"ms-0": {"success": False}} and first["state"] == "running"
    assert second["minions"] == {"ms-0": {"success": True, "return": "x", "retcode": 0}} and second["state"] == "complete"
