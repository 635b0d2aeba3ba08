# SPDX-License-Identifier: MIT
"""Several hosts keep jobs in one etcd. The event stream of each host shows the events of all hosts once."""

import collections
import contextlib
import json
import threading
import time

from support.api import JSON
from support.daemon import MINIONS
from support.process import wait_until
from support.rest import api_of, login, serving, session
from support.streams import Sse, hook

PING = {"client": "local_async", "tgt": "*", "fun": "test.ping"}


class Listener:
    """Reads /events of a host in a thread. `seen` maps a tag to the number of its events."""

    def __init__(self, stream):
        self.tags, self.seen, self._stream = [], collections.Counter(), stream
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(OSError):
            while fields := self._stream.block():
                self.tags.append(fields["tag"])
                self.seen[fields["tag"]] += 1

    def has(self, tag):
        return tag in self.seen


class Host:
    def __init__(self, start, etcd):
        served = serving()
        start({"master_job_cache": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}", "etcd.require_v2": False, **served})
        self.api = api_of(served)
        self.token = login(self.api)

    def listen(self):
        return Listener(Sse(self.api, self.token))

    def run(self, *low):
        return self.api.request("POST", "/", json.dumps(low), {**JSON, **session(self.token)}).ret


def tags_of(jid):
    return [f"salt/job/{jid}/new", *(f"salt/job/{jid}/ret/{minion}" for minion in MINIONS)]


def test_a_stream_shows_jobs_hooks_and_runners_of_other_hosts_once(start, etcd):
    one, two = Host(start, etcd), Host(start, etcd)
    listeners = [one.listen(), two.listen()]
    time.sleep(1.2)  # a host notices a listener within a second
    jid = one.run(PING)[0]["jid"]
    hook(one.api, one.token, "/hook/built", n=1)
    (ret,) = one.run({"client": "runner", "fun": "test.arg", "arg": ["x"]})
    assert ret["args"] == ["x"]
    for listener in listeners:
        wait_until(lambda heard=listener: all(map(heard.has, tags_of(jid))), "the job is heard")
        wait_until(lambda heard=listener: heard.has("salt/netapi/hook/built"), "the hook is heard")
        wait_until(lambda heard=listener: any(tag.startswith("salt/run/") and tag.endswith("/ret") for tag in heard.tags), "the runner")
    time.sleep(0.5)
    for listener in listeners:
        of_job = [tag for tag in listener.tags if jid in tag]
        assert of_job[0] == f"salt/job/{jid}/new" and sorted(of_job) == sorted(tags_of(jid))
        # Minions of all hosts have the same names, so salt/auth and minion_start can occur several times.
        assert [tag for tag, count in listener.seen.items() if count != 1 and tag not in ("salt/auth", "minion_start")] == []
