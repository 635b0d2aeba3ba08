# SPDX-License-Identifier: MIT
"""Answers of Salt's own NetapiClient to the rows. The answers are live or recorded in test/vectors."""

import json
import os

from comparison import of_netapi, silent
from support.netapi import Unanswered
from support.salts import FIRST, VECTORS

LIVE = bool(os.environ.get("REST_FCGI_SALT_LIVE"))
TIMES = 6
HIDDEN = {"password": "PASSWORD"}


def shown(low):
    return {key: HIDDEN.get(key, value) for key, value in low.items()}


def ask(salt, row, wanted=None):
    return settled(row.name, lambda: of_netapi(row.low, salt.netapi(row.low), salt.places), wanted)


def settled(name, once, wanted=None):
    """Calls `once` until the answer is `wanted`, or until two answers in a row are equal. Raises Unanswered."""
    last = problem = None
    for _ in range(TIMES):
        try:
            answer = once()
        except Unanswered as reason:
            problem = reason
            continue
        if wanted is not None and (answer == wanted or silent(answer, wanted)):
            if answer == wanted:
                return answer
            problem = f"{silent(answer, wanted)} did not answer Salt"
            continue
        if answer == last:
            return answer
        last, problem = answer, f"it says something else each time: {answer}"
    raise Unanswered(f"{name}: {problem}")


class Recording:
    """The recorded answers of a series. Only the file of the first series has all answers. Each other file has the answers
    that differ from those of the first series."""

    def __init__(self, series, what="salt", asked=lambda row: shown(row.low)):
        self.path, self._asked = VECTORS / f"{what}-{series}.json", asked
        self._shared = _rows_in(VECTORS / f"{what}-{FIRST}.json") if series != FIRST else {}
        self._rows = self._shared | _rows_in(self.path)

    def __getitem__(self, row):
        assert row.name in self._rows, f"{self.path.name} has no answer to the row {row.name!r}: make record-salt"
        asked = self._rows[row.name]["low"]
        assert asked == self._asked(row), f"the row {row.name!r} has changed since it was recorded: make record-salt"
        return self.before(row)

    def before(self, row):
        found = self._rows.get(row.name, {})
        return {key: value for key, value in found.items() if key != "low"} or None

    def write(self, release, answers):
        self._rows = {row.name: {"low": self._asked(row), **_sorted(answer)} for row, answer in answers}
        own = [(name, found) for name, found in self._rows.items() if self._shared.get(name) != found]
        rows = ",\n".join(f"{_text(name)}: {_text(found)}" for name, found in own)
        self.path.write_text(f'{{"salt": {_text(release)}, "rows": {{\n{rows}\n}}}}\n', encoding="utf-8")


def _rows_in(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}


def _sorted(value):
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _text(value):
    return json.dumps(value, ensure_ascii=False)
