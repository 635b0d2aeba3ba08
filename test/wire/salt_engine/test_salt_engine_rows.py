# SPDX-License-Identifier: MIT
"""The behaviour table, row by row: the responder's answer beside that of Salt's own NetapiClient, in the same run.

What differs on purpose stands in the table of deploy/salt.md, and nowhere else.
"""

import concurrent.futures
import fnmatch
import itertools

import pytest
from comparison import differences, of_engine, of_netapi
from rows import all_rows
from support import salts

ROWS = list(all_rows())
PAIRS = [(line, row) for line in salts.LINES for row in ROWS if row.main or line == salts.LINES[0]]
AT_ONCE = 4  # of ours, and of theirs


class Answers:
    """Both answers to each row of a line, asked for beforehand: most of them wait for something."""

    def __init__(self, salt, engine, rows):
        addresses = (
            f"198.51.{at // 250}.{at % 250 + 1}" for at in itertools.count()
        )  # nobody's failed logins count elsewhere
        self._pools = [concurrent.futures.ThreadPoolExecutor(AT_ONCE) for _ in "ab"]
        ours, theirs = self._pools
        slow_first = sorted(rows, key=lambda row: not row.slow)
        self._answers = {
            row.name: (ours.submit(engine.post, row.low, address=address), theirs.submit(salt.netapi, row.low))
            for row, address in zip(slow_first, addresses)
        }

    def __getitem__(self, row):
        """The responder's reply, and NetapiClient's answer."""
        return [future.result() for future in self._answers[row.name]]

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
        asked[salt.line] = Answers(salt, engine, [params["row"] for params in chosen if params["salt"] == salt.line])
    return asked[salt.line]


@pytest.mark.parametrize(("salt", "row"), PAIRS, indirect=["salt"], ids=[f"{line}-{row.name}" for line, row in PAIRS])
def test_it_answers_as_netapi_client_does(answers, salt, row):
    reply, answer = answers[row]
    ours, theirs = of_engine(row.low, reply), of_netapi(row.low, answer)
    assert ("error" in answer) == row.fails, f"the row proves nothing: {answer}"
    if not row.ours or salt.line in row.alike:
        assert ours == theirs
        return
    status, part = row.ours
    assert reply.status == status and part in reply.text, (reply, answer)
    assert ours != theirs, "this is no difference"


def test_the_page_names_the_rows_that_differ_and_no_others():
    different = [row.name for row in ROWS if row.ours]
    named = differences()
    assert [name for name in different if not any(fnmatch.fnmatchcase(name, pattern) for pattern in named)] == []
    assert [pattern for pattern in named if not fnmatch.filter(different, pattern)] == []
    same = [row.name for row in ROWS if not row.ours]
    assert [pattern for pattern in named if fnmatch.filter(same, pattern)] == []


def test_no_two_rows_have_a_name():
    assert len({row.name for row in ROWS}) == len(ROWS)
