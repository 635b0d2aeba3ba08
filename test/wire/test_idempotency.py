# SPDX-License-Identifier: MIT
"""Requests with an Idempotency-Key run once, over kills, in several processes and on several hosts."""

import itertools
import json
import shutil
import signal
import threading
import uuid

import pytest
from support import retries
from support.api import CRED, JSON, local
from support.daemon import LONG, merge
from support.modules import with_modules
from support.process import wait_until
from support.rest import WAYS_IN, api_of, login, running, serving, session
from support.salt_master import MODULES
from support.units import Unit

REQUESTS = 10_000 if LONG else 300


def count(path):
    return {**CRED, "client": "local", "tgt": "ms-0", "fun": "wire.count", "arg": [path]}


@pytest.fixture(params=["sqlite", "etcd"])
def shared(request, directory, modules):
    """Returns settings of two processes that share their store, or of two hosts that share an etcd."""
    directory.chmod(0o711)
    shutil.copy(MODULES / "wire.py", modules)
    settings = merge(with_modules(modules), {"log_level": "warning"})
    if request.param == "sqlite":
        return [merge(settings, {"cachedir": str(directory / "cache")})] * 2
    etcd = request.getfixturevalue("etcd")
    return [merge(settings, {"eauth_tokens": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}"})] * 2


def test_no_repeated_request_runs_twice(shared, directory, keep, capsys):
    units = [keep(Unit(directory / f"unit-{at}", changes)) for at, changes in enumerate(shared)]
    folder = directory / "runs"
    folder.mkdir()
    folder.chmod(0o777)
    clients = retries.Retries([unit.address for unit in units], folder, count, seed=43)
    kills = itertools.count()

    def kill_one():
        units[1].replace(signal.SIGKILL)
        next(kills)

    clients.run_with_kills(REQUESTS, kill_one, 1.5)
    with capsys.disabled():
        counts = clients.close(f"{next(kills)} kills")
    assert counts["200"] and counts["200 replayed"] and counts["422"] and counts["409"]


@pytest.mark.parametrize("way", WAYS_IN)
def test_the_header_works_over_each_way_in(way):
    with running() as rest:
        api = rest.ways[way]
        token = session(login(api))
        chunk = {"client": "local", "tgt": "ms-0", "fun": "test.ping", "full_return": True}
        headers = {**JSON, **token, "Idempotency-Key": str(uuid.uuid4())}
        first, again = (api.request("POST", "/", json.dumps(chunk), headers) for _ in range(2))
        assert first.status == again.status == 200 and first.text == again.text
        assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
        assert api.request("POST", "/", json.dumps([chunk]), headers).status == 422
        assert api.request("POST", "/", json.dumps(chunk), {**headers, "X-Auth-Token": "0" * 64}).status == 401
        log = rest.daemon.log()
        assert log.count("outcome=replayed") == 1 and "outcome=ok" in log
        assert headers["Idempotency-Key"] not in log


def test_a_request_of_a_killed_process_gets_409_with_its_jid(start, directory):
    both = {"cachedir": str(directory / "cache"), "rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}}
    served = [merge(serving(), both) for _ in range(2)]
    first, second = start(served[0]), start(served[1])
    body = json.dumps({**local("test.sleep", tgt="ms-0", arg=[600])})
    headers = {**JSON, "Idempotency-Key": "a-key"}

    def lose_the_reply():
        with pytest.raises(Exception):
            api_of(served[0]).request("POST", "/run", body, headers)

    client = threading.Thread(target=lose_the_reply)
    client.start()
    jobs = local("test.ping")
    active = {**CRED, "client": "runner", "fun": "jobs.active"}
    other = api_of(served[1])
    wait_until(lambda: other.request("POST", "/run", json.dumps(active), JSON).ret != [{}], "the job runs")
    (jid,) = other.request("POST", "/run", json.dumps(active), JSON).ret[0]
    first.kill(signal.SIGKILL)
    first.wait()
    client.join()
    reply = other.request("POST", "/run", body, headers)
    assert reply.status == 409 and reply.json["jid"] == jid, reply
    assert other.request("POST", "/run", json.dumps(jobs), headers).status == 422
    assert other.request("POST", "/run", json.dumps(jobs), {**headers, "Idempotency-Key": "b-key"}).status == 200
    assert second.running
