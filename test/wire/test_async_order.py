# SPDX-License-Identifier: MIT
"""An asynchronous job of the embedded engine starts after the reply with its jid.
SaltGUI and other clients ignore returns of jobs with an unknown jid."""

import json
import select

from support import fastcgi
from support.api import CRED, JSON
from support.daemon import merge
from support.process import connect
from support.rest import api_of, login, serving, session
from support.streams import Sse, until

STARTS = [
    {"client": "local_async", "tgt": "*", "fun": "test.ping"},
    {"client": "runner_async", "fun": "manage.up"},
    {"client": "wheel_async", "fun": "key.list_all"},
]
WAITS = {"client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [0.3]}
FUNS = {"test.ping", "runner.manage.up", "wheel.key.list_all"}
RETURNS = 5  # three minions, a runner and a wheel
BOTH = {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}}


def returns_of_all(events):
    seen = []
    while sum("/ret" in tag for tag in seen) < RETURNS:
        (*_, event) = until(events, lambda event: event["data"].get("fun") in FUNS)
        seen.append(event["tag"])
    return seen


def check_order(tags):
    jids = {tag.split("/")[2] for tag in tags}
    for jid in jids:
        of_job = [tag for tag in tags if tag.split("/")[2] == jid]
        assert of_job[0].endswith("/new") and all("/ret" in tag for tag in of_job[1:])
    assert len(jids) == len(STARTS) and len(set(tags)) == len(tags) == RETURNS + len(STARTS)
    return jids


def test_an_asynchronous_job_begins_after_its_reply_is_sent(on_port):
    api = on_port()
    token = login(api)
    events = Sse(api, token)
    connection = api.connection()
    connection.request("POST", "/", json.dumps([*STARTS, WAITS]), {**JSON, **session(token)})
    (*_, first) = until(events, lambda event: event["data"].get("fun") in FUNS)
    assert select.select([connection.sock], [], [], 0)[0], "the reply is there before the first event"
    started = json.loads(connection.getresponse().read())["return"]
    jids = check_order([first["tag"], *returns_of_all(events)])
    assert jids == {one["jid"] for one in started[: len(STARTS)]}


def test_a_job_of_rest_wsgi_over_fastcgi_begins_after_its_reply_is_sent(start):
    changes = merge(serving(), BOTH)
    daemon = start(changes)
    events = Sse(api_of(changes), login(api_of(changes)))
    chunks = [{**CRED, **chunk} for chunk in (*STARTS, WAITS)]
    with connect(daemon.address) as web_server:
        web_server.sendall(fastcgi.request(json.dumps(chunks).encode()))
        (*_, first) = until(events, lambda event: event["data"].get("fun") in FUNS)
        assert select.select([web_server], [], [], 0)[0]
    check_order([first["tag"], *returns_of_all(events)])
