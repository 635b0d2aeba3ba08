# SPDX-License-Identifier: MIT
"""Rules of `external_auth`, compared with Salt's own decision on random calls.
The engine permits nothing that Salt refuses. deploy/configuration.md lists the reasons for further refusals."""

import json
import os
import pathlib
import subprocess

import pytest

from support import salts
from support.daemon import BINARY, LONG
from support.process import TIMEOUT

JUDGE = BINARY.with_name("judge")
ROWS = pathlib.Path(__file__).with_name("rule_rows.json")
EXAMPLES = 20_000 if LONG else 400
ALIKE = {"permitted by both", "refused by both"}
REASONS = {"whole match", "read alike", "conditions confine", "each of a list", "nobody reached", "find_job", "named exactly"}


def test_rules_permit_nothing_that_salt_refuses(tmp_path):
    if not JUDGE.exists():
        pytest.skip(f"{JUDGE} is not there: `make wire` builds it")
    salt = salts.require(salts.SERIES[0])
    hypothesis = salts.required("Hypothesis", lambda: salts.hypothesis(salt))
    argv = [salt / "bin/python", salts.RULES, JUDGE, tmp_path, str(EXAMPLES), ROWS]
    env = {**os.environ, "PYTHONPATH": str(hypothesis)}
    limit = (60 if LONG else 10) * TIMEOUT
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=limit)
    assert done.returncode == 0, done.stderr[-4000:]
    reasons = json.loads(done.stdout)["reasons"]
    assert min(reasons[one] for one in ALIKE) >= EXAMPLES / 10, reasons
    assert set(reasons) - ALIKE - {"several of these", "malformed"} == REASONS, reasons
