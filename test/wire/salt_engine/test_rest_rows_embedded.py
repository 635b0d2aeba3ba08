# SPDX-License-Identifier: MIT
"""The REST interface with the embedded engine, compared with the recorded answers of the newest salt-api."""

import contextlib

import pytest
from rest_row import UNKNOWN
from rest_rows import all_rows
from salt_api import WAYS, Server, compared, is_as_said, recording
from support import salts
from support.rest import WAYS_IN, running

ROWS = all_rows()
RECORDED = recording(salts.SERIES[-1])
EMBEDDED = {  # the embedded engine has only keys of its own minions, and grains of this host
    "rest_cherrypy: runner that is not there": (400, UNKNOWN),
    "rest_cherrypy: a jid of one's own": (400, "'jid'"),
    "rest_cherrypy: wheel": (200, "'minions': ['ms-0', 'ms-1', 'ms-2.example.org']"),
    "rest_cherrypy: GET /keys, as admin": (200, "'minions': ['ms-0', 'ms-1', 'ms-2.example.org']"),
}


@pytest.fixture(scope="module")
def servers():
    with contextlib.ExitStack() as started:
        rests = {way: started.enter_context(running(way)) for way in WAYS}
        yield {(way_in, way): Server(way, rest.ways[way_in].port) for way_in in WAYS_IN for way, rest in rests.items()}


@pytest.mark.parametrize("way_in", WAYS_IN)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_embedded_engine_answers_like_salt_api(servers, row, way_in):
    ours = servers[way_in, row.way].ask(row)
    other = EMBEDDED.get(row.name) or row.ours
    if other:
        assert is_as_said(ours, other), ours
    else:
        assert without_pub(compared(row, ours)) == without_pub(compared(row, RECORDED[row]))


def without_pub(value):
    """Removes the keywords of a job from arguments, because the keywords differ between release series."""
    if isinstance(value, dict):
        return {key: without_pub(one) for key, one in value.items() if not key.startswith("__pub_")}
    return [without_pub(one) for one in value] if isinstance(value, (list, tuple)) else value
