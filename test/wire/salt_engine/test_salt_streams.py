# SPDX-License-Identifier: MIT
"""Event streams in front of a real master, compared with Salt's own event reader."""

import contextlib
import json
import secrets
import signal
import subprocess
import threading

import pytest
from rest_row import LIMITED
from support import salts
from support.api import CRED, Api
from support.process import TIMEOUT, free_port, line_of, wait_until
from support.rest import login
from support.salt_master import SECRET
from support.streams import Sse, WebSocket, hook, tagged, until

EVERY_SERIES = pytest.mark.parametrize("salt", salts.SERIES, indirect=True)
FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)

BEGIN, END = "test/begin", "test/end"
HIDDEN = "[hidden]"
ODD = {"text": "\u00e4 \U0001f600 \u2028 \"\\ </script>", "float": 1.5, "large": 2**63, "none": None, "list": [1, [2]], "nested": {"a": {}}}


@pytest.fixture
def fire(salt):
    """Yields a function that fires an event on the master's bus. Example: fire(tag, {...})."""
    argv = [salt.folder / "bin/python", "-W", "ignore", salts.FIRE, salt.master.config_path]
    program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def put(tag, data=None):
        program.stdin.write(json.dumps({"tag": tag, "data": data or {}}) + "\n")
        program.stdin.flush()
        assert line_of(program.stdout) == "fired\n"

    yield put
    program.kill()
    program.communicate()


@pytest.fixture
def bus(bus):
    return lambda: [json.loads(line) for line in bus().splitlines()[1:] if line.endswith("}")]


@pytest.fixture
def ours(start_engine):
    """Starts rest_fcgi with both modules. Returns a map from module to Api."""
    ports = {way: free_port() for way in ("rest_cherrypy", "rest_tornado")}
    sections = {way: {"port": port, "disable_ssl": True} for way, port in ports.items()}
    start_engine({"rest_fcgi": {"netapi": list(ports)}, **sections})
    return {way: Api("127.0.0.1", port) for way, port in ports.items()}


class Heard(threading.Thread):
    def __init__(self, stream):
        super().__init__(daemon=True)
        self._stream, self.events, self.begun = stream, [], False
        self.start()

    def run(self):
        with contextlib.suppress(OSError, EOFError):
            while (event := self._stream.event()) and event["tag"] != END:
                if self.begun:
                    self.events.append(event)
                self.begun = self.begun or event["tag"] == BEGIN

    def result(self):
        self.join(TIMEOUT)
        assert not self.is_alive(), f"no end after {self.events}"
        return self.events


def streams(apis):
    """Opens each kind of stream with plain events. Returns a map from name to stream."""
    tokens = {way: login(api) for way, api in apis.items()}
    found = {f"{way} /events": Sse(api, tokens[way]) for way, api in apis.items()}
    found["/ws"] = WebSocket(apis["rest_cherrypy"], "/ws", tokens["rest_cherrypy"]).ready()
    found["/all_events"] = WebSocket(apis["rest_tornado"], f"/all_events/{tokens['rest_tornado']}").ready()
    return found


def begin(heard, fire):
    """Fires BEGIN until all streams receive it, because a client does not see when its stream begins."""

    def all_hear():
        fire(BEGIN)
        return all(one.begun for one in heard.values())

    wait_until(all_hear, "all listen", 2 * TIMEOUT)


def between(events):
    """Returns the events between the last BEGIN and the next END."""
    tags = [event["tag"] for event in events]
    first = len(tags) - tags[::-1].index(BEGIN)
    return [event for event in events[first:] if event["tag"] not in (BEGIN, END)]


def alike(ours, theirs):
    if isinstance(ours, str) and ours.endswith(HIDDEN):
        return True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(alike(value, theirs[key]) for key, value in ours.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    return ours == theirs


def work(salt, fire):
    low = {**CRED, "client": "local", "tgt": "ms-0"}
    assert salt.netapi({**low, "fun": "test.arg", "arg": ["\u00e4"], "kwarg": {"a": 1}})["return"]
    salt.netapi({**low, "fun": "nosuch.function"})
    salt.netapi({**CRED, "client": "runner", "fun": "test.arg", "arg": ["x"]})
    salt.netapi({**CRED, "client": "wheel", "fun": "key.list_all"})
    fire("test/odd", ODD)


@EVERY_SERIES
def test_every_stream_has_every_event_of_the_bus(salt, ours, bus, fire):
    heard = {name: Heard(stream) for name, stream in streams(ours).items()}
    begin(heard, fire)
    work(salt, fire)
    fire(END)
    wait_until(lambda: bus() and bus()[-1]["tag"] == END, "Salt's own reader has it, too")
    truth = between(bus())
    assert {"test/odd"} < {event["tag"] for event in truth}
    for name, one in heard.items():
        found = between([{"tag": BEGIN}, *one.result()])
        assert [event["tag"] for event in found] == [event["tag"] for event in truth], name
        assert all(map(alike, found, truth)), (name, found, truth)


@FIRST_SERIES
def test_no_secret_is_in_any_stream(salt, ours, fire):
    words = [f"word-{secrets.token_hex(8)}" for _ in range(4)]
    root_key = next((salt.home / "master/cache").glob(".*_key")).read_text()
    heard = {name: Heard(stream) for name, stream in streams(ours).items()}
    begin(heard, fire)
    api = ours["rest_cherrypy"]
    canary = salt.canary(words[0])
    token = login(api, canary)
    hook(api, token, password=words[1], nested={"api_token": words[2]})
    salt.netapi({**canary, "client": "local", "tgt": "ms-0", "fun": "test.ping", "jid": ""})
    salt.netapi({**LIMITED, "client": "local", "tgt": "ms-1", "fun": "test.ping", "jid": ""})
    salt.netapi({"token": token, "client": "runner", "fun": "test.arg", "kwarg": {"password": words[3]}})
    fire("salt/job/error", {"cmd": "publish", "key": root_key, "token": token, "password": words[0], "eauth": "file"})
    fire(END)
    for name, one in heard.items():
        text = json.dumps(one.result())
        for word in (*words, token, root_key, SECRET):
            assert word not in text, (name, word)
        assert "salt/netapi/hook/test" in text and HIDDEN in text


@FIRST_SERIES
def test_streams_end_with_a_reason_if_the_bus_is_lost_and_can_be_reopened(salt, ours, fire):
    seen = streams(ours)
    heard = {name: Heard(stream) for name, stream in seen.items()}
    begin(heard, fire)
    fire(END)
    for one in heard.values():
        one.result()
    salt.master.stop(signal.SIGKILL)
    try:
        for name, stream in seen.items():
            assert stream.event() is None, name
            assert isinstance(stream, Sse) or stream.end[0] == 1012, (name, stream.end)
    finally:
        salt.heal()
    wait_until(lambda: api_takes_logins(ours["rest_cherrypy"]), "the responder sees the master again")
    again = streams(ours)
    jid = salt.netapi({**CRED, "client": "local_async", "tgt": "ms-0", "fun": "test.ping"})["return"]["jid"]
    for stream in again.values():
        assert until(stream, tagged(f"salt/job/{jid}/ret/ms-0"))


def api_takes_logins(api):
    try:
        return bool(login(api))
    except (AssertionError, OSError):
        return False
