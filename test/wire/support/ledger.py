# SPDX-License-Identifier: MIT
"""What became of each request while something failed: numbered jobs that leave a mark where they run.

sent      requests that were begun; each is one of the next three
answered  200, and what it ran returned; or 200 with the jid of an asynchronous job
refused   a whole reply that says in words that it did not run, or that what became of it is not known
cut off   no whole reply: the connection ended first, and the client knows that it knows nothing
lost      answered and without a mark; or a jid was given, and nobody finds that job
twice     ran more than once; whoever sends here never sends again

What was refused or cut off may have run once. Lost and twice are always 0.
"""

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
from .process import PATIENCE, wait_until

MINION = "ms-0"


def over_fastcgi(address):
    """Sends a body over a connection of its own: (status, text). Raises OSError where no whole reply came."""

    def exchange(body):
        answer = fastcgi.talk(address, fastcgi.request(body.encode()), 4 * PATIENCE)
        if not answer.ended:
            raise ConnectionError("the reply is not whole")
        return answer.status, answer.body

    return exchange


def over_http(api, path="/", headers=None):
    """The same through a web server, or on the responder's own port."""

    def exchange(body):
        try:
            reply = api.request("POST", path, body, {**JSON, **(headers or {})})
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        return reply.status, reply.text

    return exchange


class Ledger:
    """Used by many threads at once. `marks` is the file that jobs write to; `reasons` has the replies of who was refused,
    by the job's word, and what was seen where a connection ended."""

    def __init__(self, folder, seconds=0.0, **low):
        """`seconds`: how long a job stays when it has left its mark. `low` is laid over each chunk."""
        self.marks = folder / "marks"
        self.marks.touch()
        self.marks.chmod(0o666)  # jobs may run as somebody else
        self.statuses, self.unclear, self.reasons = collections.Counter(), [], {}
        self._stay = f"; sleep {seconds}" if seconds else ""
        self._low, self._numbers, self._outcomes, self._jids = low, itertools.count(), {}, {}

    def chunk(self, word, client="local", **low):
        """Runs once where it is let: its mark is its word, which it returns."""
        shell = f"echo {word} | tee -a {shlex.quote(str(self.marks))}{self._stay}"
        call = {"client": client, "tgt": MINION, "fun": "cmd.run", "arg": [shell], "kwarg": {"python_shell": True}}
        return {**CRED, **call, **self._low, **low}

    def send(self, exchange, client="local", **low):
        """Sends one request and writes down what came of it, which is returned, too."""
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
        """How often each word was run."""
        return collections.Counter(self.marks.read_text().split())

    def twice(self):
        return [word for word, times in self.ran().items() if times > 1]

    def lost(self, finds):
        """`finds(jid)`: is that job found?"""
        ran = self.ran()
        answered = [word for word, outcome in self._outcomes.items() if outcome == "answered"]
        return [word for word in answered if not (finds(self._jids[word]) if word in self._jids else ran[word])]

    def close(self, title, finds=lambda jid: False, capsys=None):
        """Prints the sum, and fails where something was lost, ran twice, or was refused in a way that nobody understands.
        To be called when nobody sends any more."""
        lost, twice = self.lost(finds), self.twice()
        with capsys.disabled() if capsys else contextlib.nullcontext():
            print(f"\n  {title}: {self}, lost {len(lost)}, run twice {len(twice)}")
        assert (lost, twice, self.unclear) == ([], [], []), (lost, twice, self.unclear)
        assert self.count("answered") > 0, "nothing was answered: this shows nothing"


@contextlib.contextmanager
def load(ledger, *exchanges, threads=4, clients=("local", "local", "local_async"), pause=0.0):
    """Sends all the time, while the block runs, through each of the exchanges in turn. Seconds of `pause` between two."""
    stop = threading.Event()
    failures = []

    def work(first):
        try:
            for turn in itertools.count(first):
                if stop.is_set():
                    return
                ledger.send(exchanges[turn % len(exchanges)], clients[turn // len(exchanges) % len(clients)])
                time.sleep(pause)
        except Exception as error:  # a thread's own is seen by nobody
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert not failures, failures


def await_answers(ledger, more=20):
    """Waits until some more of its requests are answered, by whoever sends them."""
    before = ledger.count("answered")
    try:
        wait_until(lambda: ledger.count("answered") >= before + more, f"{more} more requests are answered", 2 * PATIENCE)
    except AssertionError as error:
        raise AssertionError(f"{error}: {ledger}") from error
