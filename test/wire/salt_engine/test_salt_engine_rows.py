# SPDX-License-Identifier: MIT
"""rest_fcgi's replies to lowstate, compared with Salt's own NetapiClient.

The recorded answers are in test/vectors (`make record-salt`). If a row has `ours`, rest_fcgi intends to answer differently."""

import itertools
import sys

import oracle
import pytest
from answers import Answers, asked, chosen_rows  # noqa: F401
from comparison import expected, of_engine, silent
from rows import all_rows, local
from support import salts
from support.process import TIMEOUT
from support.salt_master import MINIONS

ROWS = list(all_rows())
PAIRS = [(series, row) for series in salts.SERIES for row in ROWS]
EACH_ROW = pytest.mark.parametrize(
    ("salt", "row"), PAIRS, indirect=["salt"], ids=[f"{series}-{row.name}" for series, row in PAIRS]
)
MASTER_TOO_SLOW = "The Salt Master did not answer in time"
TIMES = 5


class Asking:
    """Asks rest_fcgi. Each row has its own client address, because failed logins delay later logins."""

    def __init__(self, salt, engine, recording, rows):
        addresses = (f"198.51.{at // 250}.{at % 250 + 1}" for at in itertools.count())
        self._addresses = {row.name: next(addresses) for row in rows}
        self._salt, self._engine, self._recording = salt, engine, recording

    def __call__(self, row):
        """Returns the reply and its comparable value. Asks again if a minion or the master was late."""
        _, wanted = expected(self._recording[row])
        address = self._addresses[row.name]
        for _ in range(TIMES):
            reply = self._engine.post(row.low, address=address)
            status, value = of_engine(row.low, reply, self._salt.places)
            late = silent(value, wanted)
            differs = row.ours and self._salt.series not in row.alike
            if differs or not (late or MASTER_TOO_SLOW in reply.text):
                break
            ping = local("test.ping", sorted(late or MINIONS), tgt_type="list", timeout=TIMEOUT)
            self._engine.post(ping, address=address)
        return reply, (status, value)


@pytest.fixture
def answers(request, salt, engine, asked):
    if salt.series not in asked:
        rows, recording = chosen_rows(request, salt.series), oracle.Recording(salt.series)
        asked[salt.series] = Answers(
            rows,
            recording,
            Asking(salt, engine, recording, rows),
            lambda row: oracle.ask(salt, row, recording.before(row)),
        )
    return asked[salt.series]


@EACH_ROW
def test_salt_issue_32459_the_responder_answers_like_netapi_client(answers, salt, row):
    (reply, ours), theirs = answers.ours(row), expected(answers.theirs(row))
    if not row.ours or salt.series in row.alike:
        if ours != theirs and sys.version_info[:2] != salts.RECORDED_PYTHON:
            theirs = expected(oracle.ask(salt, row))
        assert ours == theirs
        return
    status, part = row.ours
    assert reply.status == status and part in reply.text, (reply, theirs)
    assert ours != theirs, "this is no difference"


if oracle.LIVE:

    @EACH_ROW
    def test_the_recording_equals_the_live_answer(answers, salt, row):
        release = salts.release_of(salt.folder)
        assert answers.theirs(row) == answers.recording[row], f"Salt {release} says something else: make record-salt"


def test_each_row_has_its_own_name():
    assert len({row.name for row in ROWS}) == len(ROWS)
