# SPDX-License-Identifier: MIT
"""Clients that others wrote, with minions of the responder's own, over FastCGI behind nginx and over its HTTP port."""

import shutil

import pytest

from support.client_checks import CHECKS, Place
from support.process import short_directory
from support.rest import WAYS_IN, Rest


@pytest.fixture(scope="module")
def rest():
    home = short_directory()
    one = Rest(home / "rest")
    yield one
    one.stop()
    shutil.rmtree(home)


@pytest.mark.parametrize("way_in", WAYS_IN)
@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_clients_of_salt_api_get_what_they_ask_for(rest, check, way_in, tmp_path):
    check(Place(f"http://127.0.0.1:{rest.ways[way_in].port}", tmp_path))
