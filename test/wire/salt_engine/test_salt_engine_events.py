# SPDX-License-Identifier: MIT
"""All that happens at a real master is in the stream of who may see it, in Salt's words, and without secrets."""

import http.client
import json
import secrets
import threading

import pytest
from rows import call, local
from support.fired_events import Firing
from support.process import wait_until
from support.salt_master import SECRET

pytestmark = pytest.mark.parametrize("salt", ["3006", "3008"], indirect=True)

LIMITED = {"eauth": "sharedsecret", "username": "limited", "password": SECRET}


class Stream:
    """`/events` of rest_cherrypy, as `user`: all that came so far."""

    def __init__(self, port, user):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        login = json.dumps({"eauth": "sharedsecret", "username": user, "password": SECRET})
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._connection.request("POST", "/login", login, headers)
        answer = self._connection.getresponse()
        token = json.loads(answer.read())["return"][0]["token"]
        self._connection.request("GET", "/events", headers={"X-Auth-Token": token})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()
        assert self._answer.readline() == b"retry: 400\n"
        self.lines = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for line in self._answer:
                self.lines.append(line.decode())
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # it was closed

    @property
    def texts(self):
        """The JSON text of each event."""
        return [line.removeprefix("data: ").strip() for line in list(self.lines) if line.startswith("data: ")]

    @property
    def events(self):
        return [json.loads(text) for text in self.texts]

    def has(self, part):
        return any(part in text for text in self.texts)


@pytest.fixture
def stream(engine):
    return lambda user: Stream(engine.ports["rest_cherrypy"], user)


@pytest.fixture
def firing(salt):
    one = Firing(salt.config["sock_dir"])
    yield one
    one.close()


@pytest.fixture
def bus(bus):
    """All events that Salt's own reader of the bus has seen since: bus()."""
    return lambda: [json.loads(line) for line in bus().splitlines()[1:] if line.endswith("}")]


def test_events_are_those_that_salt_reads(engine, bus, stream, firing):
    heard = stream("admin")
    engine.run(
        local("test.echo", "ms-0", arg=["\u00e4\u2028 \U0001f600 \u0001"]),
        local("grains.items", "ms-0"),
        local(["test.ping", "test.arg"], "ms-0", arg=[[], ["x", 1.5, None, {"a": []}]]),
        local("event.send", "ms-0", arg=["my/tag", {"a": [1, 2.5, None, {"b": True}]}]),
    )
    firing.fire("the/last", {"n": 1})
    wait_until(lambda: heard.has("the/last") and any(event["tag"] == "the/last" for event in bus()), "all has come")
    ours, theirs = until_last(heard.events), until_last(bus())
    assert len(ours) > 10
    assert ours == theirs[theirs.index(ours[0]) :]  # they began to read earlier
    assert all(text == json.dumps(json.loads(text), ensure_ascii=False) for text in heard.texts)


def test_no_secret_reaches_a_listener(engine, salt, stream, firing):
    heard = stream("admin")
    word = f"c4nary-{secrets.token_hex(8)}"
    wrong = {"eauth": "sharedsecret", "username": "admin", "password": word}
    salt.netapi(local("test.ping", "ms-0", cred=wrong))
    salt.netapi(local("test.echo", "ms-0", cred=LIMITED, arg=[f"password={word}"]))
    engine.run(local("cmd.run", "ms-0", arg=["true"], kwarg={"env": {"PASSWORD": word}, "token": word}))
    engine.run(call("runner", "test.arg", kwarg={"password": word}), call("wheel", "key.gen", id_="x"))
    headers = {"X-Auth-Token": word, "Cookie": f"session_id={word}"}
    firing.fire("salt/netapi/hook/x", {"body": f"token={word}", "post": {"token": word}, "headers": headers})
    firing.fire("the/last", {"n": 1})
    wait_until(lambda: heard.has("the/last"), "all has come")
    assert heard.has("salt/job/error") and heard.has("[hidden]")
    (root,) = (path.read_text() for path in (salt.home / "master/cache").glob(".*_key"))
    for secret in (word, root, SECRET, "PRIVATE KEY"):
        assert not heard.has(secret)


def until_last(events):
    return events[: [event["tag"] for event in events].index("the/last")]


def test_who_may_see_his_own_jobs_alone_hears_of_no_others(engine, stream, firing):
    heard = stream("limited")
    word = f"c4nary-{secrets.token_hex(8)}"
    engine.run(local("test.echo", "ms-0", arg=[word]))
    firing.fire("any/thing", {"user": "limited", "word": word})
    engine.run(local("test.ping", "ms-0", cred=LIMITED))
    wait_until(lambda: heard.has("/ret/ms-0"), "the own job has returned")
    assert not heard.has(word)
    assert {event["data"].get("user") for event in heard.events} == {"limited"}


def test_thousand_events_a_second_all_come_in_order(stream, firing):
    heard = [stream("admin") for _ in range(3)]
    firing.fire_many("test/many", 3000, 1000)
    for one in heard:
        wait_until(lambda stream=one: len(numbers(stream)) >= 3000, "all have come", 60)
        assert numbers(one) == list(range(3000))


def numbers(heard):
    return [event["data"]["n"] for event in heard.events if event["tag"] == "test/many"]
