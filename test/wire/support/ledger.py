# SPDX-License-Identifier: MIT
"""Outcomes of requests during a fault. Each job has a word and writes the word to a file where the job runs.

sent      the client began to send the request
answered  status 200 with the return of the job or the jid of an asynchronous job
refused   the reply says that the job did not run, or that its outcome is unknown
cut off   the connection ended before a whole reply arrived
lost      the request was answered, but the job left no word or its jid is not found
twice     the job ran more than once

A job with a refused or cut off request may have run once. The counts of lost and twice are always 0."""

import collections
import contextlib
import http.client
import itertools
import json
import shlex
import threading
import time

from . import fastcgi
from .api import CRED, JSON
from .process import TIMEOUT, join, wait_until

MINION = "ms-0"


def over_fastcgi(address):
    """Returns a function that sends a body over a new connection and returns (status, text).
    The function raises OSError if no whole reply arrives."""

    def exchange(body):
        answer = fastcgi.talk(address, fastcgi.request(body.encode()), 4 * TIMEOUT)
        if not answer.ended:
            raise ConnectionError("the reply is not whole")
        return answer.status, answer.body

    return exchange


def over_http(api, path="/", headers=None):
    def exchange(body):
        try:
            reply = api.request("POST", path, body, {**JSON, **(headers or {})})
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        return reply.status, reply.text

    return exchange


class Ledger:
    """A thread-safe record of outcomes. `marks` is the file to which jobs write their words."""

    def __init__(self, folder, seconds=0.0, **low):
        """Runs each job for `seconds` after the job has written its word. `low` is merged into each chunk."""
        self.marks = folder / "marks"
        self.marks.touch()
        self.marks.chmod(0o666)
        self.statuses, self.unclear, self.reasons = collections.Counter(), [], {}
        self._stay = f"; sleep {seconds}" if seconds else ""
        self._low, self._numbers, self._outcomes, self._jids = low, itertools.count(), {}, {}

    def chunk(self, word, client="local", **low):
        shell = f"echo {word} | tee -a {shlex.quote(str(self.marks))}{self._stay}"
        call = {"client": client, "tgt": MINION, "fun": "cmd.run", "arg": [shell], "kwarg": {"python_shell": True}}
        return {**CRED, **call, **self._low, **low}

    def send(self, exchange, client="local", **low):
        word = f"word-{next(self._numbers)}"
        self._outcomes[word] = "cut off"
        try:
            self._outcomes[word] = self._judge(word, client, *exchange(json.dumps([self.chunk(word, client, **low)])))
        except OSError as error:
            self.reasons[word] = repr(error)
        return self._outcomes[word]

    def _judge(self, word, client, status, text):
        self.statuses[status] += 1
        try:
            ret = json.loads(text)["return"]
            assert status == 200 or isinstance(ret, str), ret
        except (ValueError, KeyError, AssertionError):
            self.unclear.append((status, text))
            self.reasons[word] = text
            return "refused"
        if status == 200 and client == "local_async":
            self._jids[word] = ret[0]["jid"]
            return "answered"
        if status == 200 and ret == [{MINION: word}]:
            return "answered"
        self.reasons[word] = text
        return "refused"

    def answered(self):
        """Returns the words of the answered requests."""
        return [word for word, outcome in self._outcomes.items() if outcome == "answered"]

    def count(self, outcome):
        return list(self._outcomes.values()).count(outcome)

    @property
    def sent(self):
        return len(self._outcomes)

    def __str__(self):
        statuses = ", ".join(f"{times} with {status}" for status, times in sorted(self.statuses.items()))
        outcomes = ", ".join(f"{name} {self.count(name)}" for name in ("answered", "refused", "cut off"))
        return f"sent {self.sent} ({statuses}), {outcomes}"

    def ran(self):
        return collections.Counter(self.marks.read_text().split())

    def twice(self):
        return [word for word, times in self.ran().items() if times > 1]

    def lost(self, finds):
        """Returns the words of lost jobs. `finds(jid)` tells whether a job is found."""
        ran = self.ran()
        return [word for word in self.answered() if not (finds(self._jids[word]) if word in self._jids else ran[word])]

    def close(self, title, finds=lambda jid: False, capsys=None):
        """Prints the counts. Fails if a job was lost, ran twice or got an unclear refusal.
        REQUIRES: no thread sends."""
        lost, twice = self.lost(finds), self.twice()
        with capsys.disabled() if capsys else contextlib.nullcontext():
            print(f"\n  {title}: {self}, lost {len(lost)}, run twice {len(twice)}")
        assert (lost, twice, self.unclear) == ([], [], []), (lost, twice, self.unclear)
        assert self.count("answered") > 0, "no request was answered, so the test shows nothing"


@contextlib.contextmanager
def load(ledger, *exchanges, threads=4, clients=("local", "local", "local_async"), pause=0.0):
    """Sends requests over the exchanges in turn while the block runs.
    Each thread waits `pause` seconds between two requests."""
    stop = threading.Event()
    failures = []

    def work(first):
        try:
            for turn in itertools.count(first):
                if stop.is_set():
                    return
                ledger.send(exchanges[turn % len(exchanges)], clients[turn // len(exchanges) % len(clients)])
                time.sleep(pause)
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stop.set()
        join(workers)
    assert not failures, failures


def await_answers(ledger, more=20):
    """Waits until `more` further requests are answered."""
    before = ledger.count("answered")
    try:
        wait_until(lambda: ledger.count("answered") >= before + more, f"{more} more requests are answered", 2 * TIMEOUT)
    except AssertionError as error:
        raise AssertionError(f"{error}: {ledger}") from error
