# SPDX-License-Identifier: MIT
"""Clients that repeat their requests with an Idempotency-Key, against a module that counts its runs in a file.

Each request has a key of its own. A client sends it again after a cut connection, and also without a reason, to any of
the servers, sometimes twice at the same time, sometimes with another body. `Retries.close` checks every reply."""

import collections
import json
import random
import threading
import time
import uuid

from . import fastcgi
from .process import TIMEOUT, join


def over_fastcgi(address, body, key, timeout):
    """Sends a body to `/` and returns (status, headers, text). Raises OSError if no whole reply arrives in time."""
    answer = fastcgi.talk(address, fastcgi.request(body.encode(), HTTP_IDEMPOTENCY_KEY=key), timeout)
    if not answer.ended:
        raise ConnectionError("the reply is not whole")
    return answer.status, answer.stdout.partition(b"\r\n\r\n")[0].decode().lower(), answer.body


class Request:
    def __init__(self):
        self.key, self.replies, self.lock = str(uuid.uuid4()), [], threading.Lock()
        self.has_answer = False  # whether the request ran, so that another body gets 422


class Retries:
    def __init__(self, addresses, folder, chunk, seed):
        """`chunk(path)` returns a chunk that counts its run in the file `path`."""
        self.addresses, self._folder, self._chunk = addresses, folder, chunk
        self._chance, self._lock = random.Random(seed), threading.Lock()
        self.requests, self.sent, self.cut = [], 0, 0
        self.failures = []

    def _attempt(self, request, is_changed=False):
        path = str(self._folder / request.key)
        with self._lock:
            address = self._chance.choice(self.addresses)
            is_impatient = self._chance.random() < 0.05
            self.sent += 1
        body = json.dumps([{**self._chunk(path), **({"timeout": 77} if is_changed else {})}])
        try:
            status, head, text = over_fastcgi(address, body, request.key, 0.02 if is_impatient else 4 * TIMEOUT)
        except OSError:
            with self._lock:
                self.cut += 1
            return None
        with request.lock:
            request.replies.append((status, "idempotency-replayed: true" in head, text, is_changed))
            request.has_answer = request.has_answer or status in (200, 409)
        return status

    def _run_one(self):
        request = Request()
        with self._lock:
            self.requests.append(request)
            dice = [self._chance.random() for _ in range(4)]
            more = self._chance.choice([0, 0, 1, 2])
        twin = threading.Thread(target=self._attempt, args=(request,)) if dice[0] < 0.2 else None
        if twin:
            twin.start()
        while self._attempt(request) not in (200, 409):
            time.sleep(0.05 * dice[1])
        if twin:
            join([twin])
        for _ in range(more):
            time.sleep(0.02 * dice[2])
            self._attempt(request)
        if dice[3] < 0.2:
            self._attempt(request, is_changed=True)

    def run(self, number, threads=8):
        """Sends until `number` attempts are made."""

        def work():
            try:
                while self.sent < number:
                    self._run_one()
            except Exception as error:
                self.failures.append(error)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        join(workers, 3600)
        assert not self.failures, self.failures

    def run_with_kills(self, number, kill, longest_pause):
        """The same as `run`. Meanwhile calls `kill` again and again, after pauses of up to `longest_pause` seconds."""
        chance, is_over = random.Random(7), threading.Event()

        def kill_often():
            while not is_over.wait(chance.uniform(longest_pause / 5, longest_pause)):
                kill()

        killer = threading.Thread(target=kill_often)
        killer.start()
        try:
            self.run(number)
        finally:
            is_over.set()
            killer.join()

    def _check(self, request):
        path = self._folder / request.key
        runs = len(path.read_text().splitlines()) if path.exists() else 0
        assert runs <= 1, f"{request.key} ran {runs} times: {request.replies}"
        changed = [reply for reply in request.replies if reply[3]]
        assert all(reply[0] == 422 for reply in changed), changed
        own = [reply for reply in request.replies if not reply[3]]
        good = {text for status, _, text, _ in own if status == 200}
        fresh = [reply for reply in own if reply[0] == 200 and not reply[1]]
        assert len(good) <= 1 and len(fresh) <= 1, own
        assert runs == 1 or not good, own
        for status, is_replayed, text, _ in own:
            assert status in (200, 409, 503) and (status == 200 or not is_replayed), own
            assert status != 409 or ("jid" in json.loads(text) and not good), own
            assert status != 503 or "jid" not in json.loads(text), own
        return runs

    def close(self, title):
        """Checks all replies. Prints and returns their counts."""
        runs = sum(self._check(request) for request in self.requests)
        counts = collections.Counter()
        for request in self.requests:
            counts.update(f"{status}{' replayed' * replayed}" for status, replayed, _, _ in request.replies)
        print(f"\n  {title}: {len(self.requests)} keys, {self.sent} requests, {runs} runs, {self.cut} cut off, {dict(counts)}")
        return counts
