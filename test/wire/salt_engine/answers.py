# SPDX-License-Identifier: MIT
"""Both answers to each row of a table, asked for beforehand: most of them wait for something."""

import concurrent.futures

import oracle
import pytest
from support.netapi import Unanswered

AT_ONCE = 4  # of ours, and of theirs


class Answers:
    """`ours` and `theirs` ask a row; the second only where answers are not taken from the recording. `stop` ends what
    was started for that."""

    def __init__(self, rows, recording, ours, theirs, stop=lambda: None):
        self.recording, self._stop = recording, stop
        self._pools = [concurrent.futures.ThreadPoolExecutor(AT_ONCE) for _ in "ab"]
        slow_first = sorted(rows, key=lambda row: not row.slow)
        self._theirs = {row.name: self._pools[0].submit(theirs, row) for row in slow_first if oracle.LIVE}
        self._ours = {row.name: self._pools[1].submit(ours, row) for row in slow_first}

    def ours(self, row):
        return self._ours[row.name].result()

    def theirs(self, row):
        """Salt's answer. Skips the test where its minions did not answer it: that tells nothing."""
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
    """Answers by series."""
    by_line = {}
    yield by_line
    for answers in by_line.values():
        answers.stop()


def chosen_rows(request, series):
    """The rows of that series which this run of the module's tests is about."""
    all_params = [
        item.callspec.params
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    ]
    return list({params["row"].name: params["row"] for params in all_params if params["salt"] == series}.values())
