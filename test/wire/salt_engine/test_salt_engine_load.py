# SPDX-License-Identifier: MIT

import concurrent.futures

import pytest
from rows import call, local

pytestmark = pytest.mark.parametrize("salt", ["3006"], indirect=True)
COUNT = 50  # a minion starts about eight processes a second


def test_parallel_jobs_have_their_own_returns(salt, start_engine):
    engine = start_engine({"rest_fcgi": {"max_threads": COUNT + 10}})
    minions = list(salt.minions)

    def echo(number):
        minion = minions[number % len(minions)]
        (ret,) = engine.run(local("test.arg", minion, arg=[f"request {number}"], timeout=90), timeout=180)
        (returned,) = ret.items()
        return (
            returned[0] == minion and returned[1]["args"] == [f"request {number}"],
            returned[1]["kwargs"]["__pub_jid"],
        )

    with concurrent.futures.ThreadPoolExecutor(COUNT) as pool:
        answers = list(pool.map(echo, range(COUNT)))
    assert all(right for right, _ in answers)
    assert len({jid for _, jid in answers}) == COUNT


def test_parallel_runners_and_jobs_have_their_own_returns(engine):
    def ask(number):
        if number % 2:
            return engine.run(call("runner", "test.arg", arg=[number]))[0]["args"]
        return engine.run(local("test.arg", arg=[number], timeout=60))[0]["ms-2.example.org"]["args"]

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        assert list(pool.map(ask, range(10))) == [[number] for number in range(10)]
