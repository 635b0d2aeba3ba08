# SPDX-License-Identifier: MIT

import json
import signal

import pytest
from rows import local, user
from support import retries, salts
from support.daemon import LONG

REQUESTS = 1000 if LONG else 200


@pytest.mark.parametrize("salt", salts.SERIES, indirect=True)
def test_no_repeated_request_runs_twice_on_minions_of_a_master(start_engine, tmp_path, capsys):
    engines = [start_engine({"log_level": "warning"}) for _ in range(2)]
    clients = retries.Retries(
        [engine.address for engine in engines], tmp_path, lambda path: local("wire.count", "ms-0", arg=[path]), seed=43
    )

    def kill_one():
        engines[-1].kill(signal.SIGKILL)
        engines[-1].wait()
        engines.append(start_engine({"log_level": "warning"}))
        clients.addresses[1] = engines[-1].address

    clients.run_with_kills(REQUESTS, kill_one, 2)
    with capsys.disabled():
        counts = clients.close(f"{len(engines) - 2} kills in front of a master")
    assert counts["200"] and counts["200 replayed"] and counts["422"]


@pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)
def test_with_inline_login_a_stranger_gets_no_replay(start_engine):
    engine = start_engine({"rest_fcgi": {"inline_login": True}})
    chunk = local("test.random_hash", "ms-0", cred=user("admin"))

    def post(**more):
        status, head, text = retries.over_fastcgi(engine.address, json.dumps([{**chunk, **more}]), "a-key", 60)
        return status, "idempotency-replayed" in head, text

    first = post()
    assert first[:2] == (200, False) and post() == (200, True, first[2])
    assert post(password="wrong")[:2] == (401, False)
    assert post() == (200, True, first[2])
