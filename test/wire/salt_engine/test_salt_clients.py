# SPDX-License-Identifier: MIT

import pytest
from support import salts
from support.client_checks import CHECKS, Place


@pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)
@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_clients_of_salt_api_work(salt, engine, check, tmp_path):
    check(Place(f"http://127.0.0.1:{engine.ports['rest_cherrypy']}", tmp_path))
