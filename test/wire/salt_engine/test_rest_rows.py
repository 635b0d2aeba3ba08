# SPDX-License-Identifier: MIT
"""The REST interface, row by row: the responder's answer beside that of Salt's own salt-api.

What salt-api says is recorded in test/vectors (`make record-salt`); `make test-salt` asks it again. What differs on
purpose stands in the table of deploy/rest.md, and nowhere else.
"""

import concurrent.futures
import fnmatch

import pytest
from comparison import differences, silent
from oracle import LIVE
from rest_rows import all_rows
from salt_api import WAYS, SaltApi, Server, ask, recording
from support import salts
from support.netapi import Unanswered
from support.process import free_port

ROWS = all_rows()
PAIRS = [(line, row) for line in salts.LINES for row in ROWS]
EACH_ROW = pytest.mark.parametrize(
    ("salt", "row"), PAIRS, indirect=["salt"], ids=[f"{line}-{row.name}" for line, row in PAIRS]
)
TIMES = 5  # that the responder is asked at most, where minions were too slow for it


@pytest.fixture
def ours(start_engine, salt):
    ports = {way: free_port() for way in WAYS}
    sections = {way: {"port": port} for way, port in ports.items()}
    start_engine({"rest_fcgi": {"netapi": list(WAYS)}, **sections})
    return {way: Server(way, port, salt.places) for way, port in ports.items()}


def sentence(answer):
    """Both say what was wrong: salt-api on a page, the responder in JSON."""
    found = answer.get("json")
    return str(found["return"]) if isinstance(found, dict) and "return" in found else answer.get("text", str(found))
