# SPDX-License-Identifier: MIT

import pytest

from support.client_checks import CHECKS, Place
from support.rest import running

NOT_OF_TORNADO = ("pepper_takes_a_token_for_run",)  # rest_tornado has no /token
TORNADO = [check for check in CHECKS if check.__name__.startswith("pepper") and check.__name__ not in NOT_OF_TORNADO]


@pytest.fixture(scope="module", params=["rest_cherrypy"])
def rest(request):
    with running(request.param) as one:
        yield one


PLACES = [("http", check) for check in CHECKS] + [("fastcgi", check) for check in CHECKS if check not in TORNADO]


@pytest.mark.parametrize("way_in, check", PLACES, ids=[f"{way_in}-{check.__name__}" for way_in, check in PLACES])
def test_clients_of_salt_api_work(rest, check, way_in, tmp_path):
    check(Place(f"http://127.0.0.1:{rest.ways[way_in].port}", tmp_path))


@pytest.mark.parametrize("rest", ["rest_tornado"], indirect=True)
@pytest.mark.parametrize("check", TORNADO, ids=[check.__name__ for check in TORNADO])
def test_pepper_works_with_rest_tornado(rest, check, tmp_path):
    check(Place(f"http://127.0.0.1:{rest.ways['http'].port}", tmp_path))
