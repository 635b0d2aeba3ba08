# SPDX-License-Identifier: MIT
"""Asks rest_fcgi and Salt for the answers to all rows (requests) before the tests run, in parallel because most rows wait."""

import concurrent.futures

import oracle
import pytest
from support.netapi import Unanswered

AT_ONCE = 4


class Answers:
    """Answers of rest_fcgi (`ours`) and of Salt (`theirs`) to a row."""

    def __init__(self, rows, recording, ours, theirs, stop=lambda: None):
        self.recording, self._stop = recording, stop
        self._pools = [concurrent.futures.ThreadPoolExecutor(AT_ONCE) for _ in "ab"]
        slow_first = sorted(rows, key=lambda row: not row.slow)
        self._theirs = {row.name: self._pools[0].submit(theirs, row) for row in slow_first if oracle.LIVE}
        self._ours = {row.name: self._pools[1].submit(ours, row) for row in slow_first}

    def ours(self, row):
        return self._ours[row.name].result()

    def theirs(self, row):
        """Returns Salt's answer. Skips the test if Salt's minions did not answer."""
        if not oracle.LIVE:
            return self.recording[row]
        try:
            return self._theirs[row.name].result()
        except Unanswered as reason:
            pytest.skip(str(reason))

    def stop(self):
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._stop()


@pytest.fixture(scope="module")
def asked():
    by_line = {}
    yield by_line
    for answers in by_line.values():
        answers.stop()


def chosen_rows(request, series):
    all_params = [
        item.callspec.params
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    ]
    return list({params["row"].name: params["row"] for params in all_params if params["salt"] == series}.values())
