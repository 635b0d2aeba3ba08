# SPDX-License-Identifier: MIT
"""The behaviour table, row by row: the responder's answer beside that of Salt's own NetapiClient.

What NetapiClient says is recorded in test/vectors (`make record-salt`); `make test-salt` asks it again at the same time.
What differs on purpose stands in the table of deploy/salt.md, and nowhere else.
"""

import concurrent.futures
import fnmatch
import itertools

import oracle
import pytest
from comparison import differences, expected, of_engine, silent
from rows import all_rows, local
from support import salts
from support.netapi import Unanswered
from support.process import PATIENCE
from support.salt_master import MINIONS

ROWS = list(all_rows())
PAIRS = [(line, row) for line in salts.LINES for row in ROWS]
EACH_ROW = pytest.mark.parametrize(
    ("salt", "row"), PAIRS, indirect=["salt"], ids=[f"{line}-{row.name}" for line, row in PAIRS]
)
AT_ONCE = 4  # of ours, and of theirs
MASTER_TOO_SLOW = "The Salt Master did not answer in time"
TIMES = 5  # that the responder is asked at most, where minions were too slow for it


class Answers:
    """Both answers to each row of a line, asked for beforehand: most of them wait for something."""

    def __init__(self, salt, engine, rows):
        # Nobody's failed logins count elsewhere.
        self._addresses = (f"198.51.{at // 250}.{at % 250 + 1}" for at in itertools.count())
        self._salt, self._engine = salt, engine
        self.recording = oracle.Recording(salt.line)
        self._pools = [concurrent.futures.ThreadPoolExecutor(AT_ONCE) for _ in "ab"]
        ours, theirs = self._pools
        slow_first = sorted(rows, key=lambda row: not row.slow)
        addresses = {row.name: next(self._addresses) for row in rows}
        self._theirs = {row.name: theirs.submit(self._ask_netapi, row) for row in slow_first if oracle.LIVE}
        self._ours = {row.name: ours.submit(self._ask_engine, row, addresses[row.name]) for row in slow_first}

    def _ask_engine(self, row, address):
        """The reply, and what is compared of it. A minion or master that is too slow for the row's timeout is given more
        chances, each once it answers a ping."""
        _, wanted = expected(self.recording[row])
        for _ in range(TIMES):
            reply = self._engine.post(row.low, address=address)
            status, value = of_engine(row.low, reply, self._salt.places)
            late = silent(value, wanted)
            if row.ours or not (late or MASTER_TOO_SLOW in reply.text):
                break
            ping = local("test.ping", sorted(late or MINIONS), tgt_type="list", timeout=PATIENCE)
            self._engine.post(ping, address=address)
        return reply, (status, value)

    def _ask_netapi(self, row):
        return oracle.ask(self._salt, row, self.recording.before(row))

    def ours(self, row):
        return self._ours[row.name].result()

    def theirs(self, row):
        """NetapiClient's answer. Skips the test where its minions did not answer it: that tells nothing."""
        if not oracle.LIVE:
            return self.recording[row]
        try:
            return self._theirs[row.name].result()
        except Unanswered as reason:
            pytest.skip(str(reason))

    def stop(self):
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def asked():
    """Answers by line."""
    by_line = {}
    yield by_line
    for answers in by_line.values():
        answers.stop()


@pytest.fixture
def answers(request, salt, engine, asked):
    if salt.line not in asked:
        chosen = [
            item.callspec.params
            for item in request.session.items
            if item.module is request.module and hasattr(item, "callspec")
        ]
        rows = {params["row"].name: params["row"] for params in chosen if params["salt"] == salt.line}
        asked[salt.line] = Answers(salt, engine, list(rows.values()))
    return asked[salt.line]


@EACH_ROW
def test_it_answers_as_netapi_client_does(answers, salt, row):
    (reply, ours), theirs = answers.ours(row), expected(answers.theirs(row))
    if not row.ours or salt.line in row.alike:
        assert ours == theirs
        return
    status, part = row.ours
    assert reply.status == status and part in reply.text, (reply, theirs)
    assert ours != theirs, "this is no difference"


if oracle.LIVE:

    @EACH_ROW
    def test_the_recording_still_holds(answers, salt, row):
        release = salts.release_of(salt.folder)
        assert answers.theirs(row) == answers.recording[row], f"Salt {release} says something else: make record-salt"


def test_the_page_names_the_rows_that_differ_and_no_others():
    different = [row.name for row in ROWS if row.ours]
    named = differences()
    assert [name for name in different if not any(fnmatch.fnmatchcase(name, pattern) for pattern in named)] == []
    assert [pattern for pattern in named if not fnmatch.filter(different, pattern)] == []
    same = [row.name for row in ROWS if not row.ours]
    assert [pattern for pattern in named if fnmatch.filter(same, pattern)] == []


def test_no_two_rows_have_a_name():
    assert len({row.name for row in ROWS}) == len(ROWS)
