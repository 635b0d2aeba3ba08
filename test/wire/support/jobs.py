# SPDX-License-Identifier: MIT

import itertools
import json
import threading
import time

from . import fastcgi
from .api import CRED
from .process import join


def call(address, *chunks):
    """Returns the value of `return`, or None if the reply is incomplete."""
    body = json.dumps([{**CRED, **chunk} for chunk in chunks]).encode()
    try:
        answer = fastcgi.talk(address, fastcgi.request(body))
    except OSError:
        return None
    if not answer.ended or answer.status != 200:
        return None
    return json.loads(answer.body)["return"]


def refused(address, chunk):
    answer = fastcgi.talk(address, fastcgi.request(json.dumps([{**CRED, **chunk}]).encode()))
    assert answer.status == 503, answer.body
    return json.loads(answer.body)["return"]


def runner(address, fun, **kwargs):
    answer = call(address, {"client": "runner", "fun": fun, "kwarg": kwargs})
    assert answer, f"no answer to {fun}"
    return answer[0]


class Clients:
    """Threads that start jobs and record the answered jobs."""

    def __init__(self, count):
        self.jobs = set()
        self.words = set()
        self._address = None
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def aim_at(self, address):
        self._address = address

    def stop(self):
        self._stop.set()
        join(self._threads)

    def _work(self, number):
        for turn in itertools.count():
            if self._stop.is_set():
                return
            address = self._address
            if address is None:
                time.sleep(0.001)
                continue
            if turn % 2:
                ret = call(address, {"client": "local_async", "tgt": "*", "fun": "test.ping"})
                self.jobs.update([ret[0]["jid"]] if ret else [])
            else:
                word = f"word-{number}-{turn}"
                ret = call(address, {"client": "local", "tgt": "ms-0", "fun": "test.arg", "arg": [word]})
                self.words.update([word] if ret and ret[0].get("ms-0") else [])
