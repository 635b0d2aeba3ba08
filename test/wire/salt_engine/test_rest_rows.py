# SPDX-License-Identifier: MIT
"""The REST interface of rest_fcgi, compared with Salt's own salt-api.

The recorded answers are in test/vectors (`make record-salt`). If a row has `ours`, rest_fcgi intends to answer differently."""


import oracle
import pytest
from answers import Answers, asked, chosen_rows  # noqa: F401
from comparison import silent
from rest_rows import all_rows
from salt_api import SaltApi, Server, ask, compared, is_as_said, recording
from support import salts

ROWS = all_rows()
PAIRS = [(series, row) for series in salts.SERIES for row in ROWS]
EACH_ROW = pytest.mark.parametrize(
    ("salt", "row"), PAIRS, indirect=["salt"], ids=[f"{series}-{row.name}" for series, row in PAIRS]
)
TIMES = 5


@pytest.fixture
def answers(request, salt, engine, asked):
    if salt.series not in asked:
        rows, recorded = chosen_rows(request, salt.series), recording(salt.series)
        servers = {way: Server(way, port, salt.places) for way, port in engine.ports.items()}
        api = SaltApi(salt) if oracle.LIVE else None

        def ours(row):
            for _ in range(TIMES):
                answer = servers[row.way].ask(row)
                if is_as_said(answer, row.ours) if row.ours else not silent(answer, recorded[row]):
                    break
            return answer

        def theirs(row):
            return ask(api.servers, row, recorded.before(row))

        asked[salt.series] = Answers(rows, recorded, ours, theirs, api.stop if api else lambda: None)
    return asked[salt.series]


@EACH_ROW
def test_the_responder_answers_like_salt_api(answers, salt, row):
    ours, theirs = answers.ours(row), answers.theirs(row)
    if not row.ours or salt.series in row.alike:
        assert compared(row, ours) == compared(row, theirs)
        return
    assert is_as_said(ours, row.ours), (ours, theirs)
    assert compared(row, ours) != compared(row, theirs), "this is no difference"


if oracle.LIVE:

    @EACH_ROW
    def test_the_recording_equals_the_live_answer(answers, salt, row):
        release = salts.release_of(salt.folder)
        assert answers.theirs(row) == answers.recording[row], f"Salt {release} says something else: make record-salt"


def test_each_row_has_its_own_name():
    assert len({row.name for row in ROWS}) == len(ROWS)
