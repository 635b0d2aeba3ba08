# SPDX-License-Identifier: MIT
"""Event streams in front of a real master, compared with a real salt-api and with Salt's own event reader."""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import threading
import time
import types

import pytest
from rest_row import LIMITED
from salt_api import SaltApi
from support import daemon as daemons
from support import salts
from support.api import CRED, JSON, Api
from support.daemon import merge
from support.process import TIMEOUT, free_port, line_of, meanwhile, wait_until
from support.rest import login, session
from support.salt_master import MINIONS, SECRET
from support.streams import Sse, WebSocket, hook, tagged, until
from web_sockets import CASES

EVERY_SERIES = pytest.mark.parametrize("salt", salts.SERIES, indirect=True)
FIRST_SERIES = pytest.mark.parametrize("salt", ["3006"], indirect=True)

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


def serving(salt, start_engine):
    """Starts a responder with both modules. Returns the responder and a map from module to Api."""
    ports = {way: free_port() for way in ("rest_cherrypy", "rest_tornado")}
    sections = {way: {"port": port, "disable_ssl": True} for way, port in ports.items()}
    engine = start_engine({"rest_fcgi": {"netapi": list(ports)}, **sections})
    return engine, {way: Api("127.0.0.1", port) for way, port in ports.items()}


@pytest.fixture
def ours(salt, start_engine):
    return serving(salt, start_engine)[1]


@pytest.fixture
def ws4py(salt):
    return salts.required("ws4py", lambda: salts.ws4py(salt.folder))


@pytest.fixture
def theirs(salt, ws4py):
    """A real salt-api with WebSockets in front of the same master."""
    home = salt.home / f"streams-{secrets.token_hex(4)}"
    (home / "master").mkdir(parents=True)
    own = {name: str(home / name) for name in ("api_logfile", "api_pidfile")}
    ports = {"rest_cherrypy": {"port": free_port()}, "rest_tornado": {"port": free_port(), "websockets": True}}
    short_timeouts = {"timeout": 1, "gather_job_timeout": 1}  # rest_tornado waits for absent minions
    config = merge(salt.config, {**own, **ports, **short_timeouts})
    (home / "master/master").write_text(json.dumps(config))
    api = SaltApi(types.SimpleNamespace(folder=salt.folder, home=home, config=config, places=()), [ws4py])
    yield {way: Api("127.0.0.1", server.port) for way, server in api.servers.items()}
    api.stop()


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


def streams(apis, cred=CRED):
    """Opens each kind of stream with plain events. Returns a map from name to stream."""
    tokens = {way: login(api, cred) for way, api in apis.items()}
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


def finish(heard, fire):
    """Fires END until all streams receive it, because salt-api loses events."""

    def all_have_ended():
        fire(END)
        return not any(one.is_alive() for one in heard)

    wait_until(all_have_ended, "all hear the end", 2 * TIMEOUT)


def between(events):
    """Returns the events between the last BEGIN and the next END."""
    tags = [event["tag"] for event in events]
    first = len(tags) - tags[::-1].index(BEGIN)
    return [event for event in events[first:] if event["tag"] not in (BEGIN, END)]


def of_test(events):
    """Returns the events of the test. BEGIN and late returns of other jobs are left out."""
    return [event for event in events if event["tag"].startswith("test/") and event["tag"] != BEGIN]


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
def test_every_stream_has_every_event_of_the_bus_like_salt_api(salt, ours, theirs, bus, fire):
    heard = {name: Heard(stream) for name, stream in streams(ours).items()}
    their = {name: Heard(stream) for name, stream in streams(theirs).items()}
    begin({**heard, **{f"salt-api {name}": one for name, one in their.items()}}, fire)
    work(salt, fire)
    finish([*heard.values(), *their.values()], fire)
    wait_until(lambda: bus() and bus()[-1]["tag"] == END, "Salt's own reader has it, too")
    truth = between(bus())
    assert {"test/odd"} < {event["tag"] for event in truth}
    for name, one in heard.items():
        found = between([{"tag": BEGIN}, *one.result()])
        assert [event["tag"] for event in found] == [event["tag"] for event in truth], name
        assert all(map(alike, found, truth)), (name, found, truth)
    for name, one in their.items():
        told = [event for event in one.result() if event in truth]
        assert len(told) > len(truth) / 2, (name, "salt-api loses some, but it lost nearly all")


@EVERY_SERIES
def test_blocks_and_frames_equal_those_of_salt_api(ours, theirs, fire):
    mine, their = streams(ours), streams(theirs)
    heard = {at: Heard(stream) for at, stream in enumerate([*mine.values(), *their.values()])}
    begin(heard, fire)
    finish(heard.values(), fire)
    fire("test/odd", ODD)
    found = {name: odd(stream) for name, stream in mine.items()}
    with meanwhile(lambda: fire("test/odd", ODD), 0.2):  # salt-api loses events
        expected = {name: odd(stream) for name, stream in their.items()}
    for name, one in found.items():
        if isinstance(one, dict):
            assert one.pop("id"), name
        assert without_stamp(one) == without_stamp(expected[name]), name


def odd(stream):
    read = stream.block if isinstance(stream, Sse) else stream.text
    return next(one for one in iter(read, None) if "test/odd" in str(one))


def without_stamp(value):
    return re.sub(r"20\d\d-[^\"]*", "STAMP", str(value))


@EVERY_SERIES
def test_web_sockets_of_rest_cherrypy_behave_like_salt_api(ours, theirs):
    mine, their = ours["rest_cherrypy"], theirs["rest_cherrypy"]
    for case in CASES:
        answer, their_answer = case.ask(mine, login(mine)), case.ask(their, login(their))
        if not case.ours:
            assert answer == their_answer, case.name
        else:
            assert answer == case.ours, case.name
            assert answer != their_answer, (case.name, "this is no difference")


def of_job(socket, jid):
    """Reads views until the job is complete. Returns the job's entry in the last view."""
    end = time.monotonic() + 2 * TIMEOUT
    while time.monotonic() < end:
        found = socket.event().get("jobs", {}).get(jid, {})
        if found.get("state") == "complete":
            return found
    raise TimeoutError(f"the view does not show the end of job {jid}")


def minions_of(socket):
    return next(found["minions"] for found in iter(socket.event, None) if "minions" in found)


# For each module of salt-api, the seconds to wait for a formatted view, and the number of tries.
# One try is not always enough, because salt-api sometimes loses events.
TRIES = {"rest_cherrypy": (3, 20), "rest_tornado": (20, 5)}
TRIES_3006 = {**TRIES, "rest_tornado": (3, 1)}


@EVERY_SERIES
@pytest.mark.parametrize("way, path", [("rest_cherrypy", "/ws/{}?format_events"), ("rest_tornado", "/formatted_events/{}")])
def test_formatted_views_equal_those_of_salt_api(salt, ours, theirs, way, path):
    mine, their = (WebSocket(apis[way], path.format(login(apis[way]))).ready() for apis in (ours, theirs))
    if way == "rest_tornado":
        minions_of(mine)
    timeout, tries = (TRIES_3006 if salt.series == "3006" else TRIES)[way]
    their.set_timeout(timeout)
    for _ in range(tries):
        jid = salt.netapi({**CRED, "client": "local_async", "tgt": "ms-*", "fun": "test.ping"})["return"]["jid"]
        job = of_job(mine, jid)
        assert set(job["minions"]) == set(MINIONS)
        with contextlib.suppress(TimeoutError):
            shown = of_job(their, jid)
            assert shown["minions"].items() <= job["minions"].items()
            if shown.keys() == job.keys() and len(shown["minions"]) == len(MINIONS):
                assert shown == job
                break
    else:
        assert tries == 1, "salt-api has shown no whole job"
    if way == "rest_cherrypy":
        their.set_timeout(TIMEOUT)
        salt.netapi({**CRED, "client": "local_async", "tgt": "ms-0", "fun": "grains.items"})
        assert minions_of(mine) == minions_of(their)


@FIRST_SERIES
def test_a_limited_user_sees_the_events_of_own_jobs_only(salt, ours, fire):
    canary = f"canary-{secrets.token_hex(8)}"
    seen = streams(ours, LIMITED)
    job = {**CRED, "client": "local", "tgt": "ms-0", "arg": [canary]}
    assert salt.netapi({**job, "fun": "test.echo"})["return"] == {"ms-0": canary}
    for client, fun in (("runner", "test.arg"), ("wheel", "key.list_all")):
        salt.netapi({**CRED, "client": client, "fun": fun, **({"arg": [canary]} if client == "runner" else {})})
    fire("salt/job/20260101000000000000/ret/ms-0", {"jid": "20260101000000000000", "return": canary, "id": "ms-0"})
    fire("salt/auth", {"id": canary})
    fire("test/canary", {"text": canary, "user": "limited"})
    hook(ours["rest_cherrypy"], login(ours["rest_cherrypy"]), text=canary)
    (jid,) = [salt.netapi({**LIMITED, "client": "local_async", "tgt": "ms-0", "fun": "test.ping"})["return"]["jid"]]
    for name, stream in seen.items():
        events = until(stream, tagged(f"salt/job/{jid}/ret/ms-0"))
        assert canary not in json.dumps(events), name
        assert all(jid in event["tag"] for event in events), (name, [event["tag"] for event in events])


@FIRST_SERIES
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")
def test_a_hook_without_access_to_the_socket_is_fired_by_the_runner(salt, start_engine, bus, monkeypatch):
    salt.home.chmod(0o710)
    wrapper = salt.home / f"as-nobody-{secrets.token_hex(4)}"
    wrapper.write_text(
        '#!/bin/sh\nfolder=$(dirname "$2")\nchown -R 65534 "$(dirname "$folder")"\n'
        'export STATE_DIRECTORY="$folder/state"\n'
        f'exec setpriv --reuid=65534 --regid={os.getegid()} --clear-groups {daemons.BINARY} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setattr(daemons, "BINARY", wrapper)
    engine, apis = serving(salt, start_engine)
    assert engine.status("Uid") == "65534"
    for way, api in apis.items():
        word = f"word-{secrets.token_hex(4)}"
        hook(api, login(api), "/hook/x", text=word)

        def fired(word=word):
            return [event for event in bus() if event["tag"].startswith("salt/netapi/hook") and word in str(event)]

        (event,) = wait_until(fired, f"the hook of {way} is on the bus")
        assert event["data"]["post"] == {"text": word}
        reply = api.request("POST", "/hook", "{}", {**JSON, **session(login(api, LIMITED))})
        assert reply.status == 503 and str(salt.home) not in reply.text
    engine.await_log('the runner event.send, as user "limited"')


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
def test_streams_end_with_a_reason_if_the_bus_is_lost_and_can_be_reopened(salt, start_engine, fire):
    engine, ours = serving(salt, start_engine)
    seen = streams(ours)
    heard = {name: Heard(stream) for name, stream in seen.items()}
    begin(heard, fire)
    fire(END)
    assert all(of_test(one.result()) == [] for one in heard.values())
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
