# SPDX-License-Identifier: MIT

import concurrent.futures

import pytest
from comparison import JID
from rows import call, local, user
from support.process import wait_until

FIRST_SERIES = pytest.mark.parametrize("salt", ["3006"], indirect=True)


@FIRST_SERIES
def test_the_jid_of_another_users_job_returns_nothing_of_it(engine):
    shell = ["sleep 10; echo canary"]
    (job,) = engine.run(local("cmd.run", "ms-0", cred=user("admin"), client="local_async", arg=shell))
    wait_until(lambda: engine.run(local("saltutil.find_job", "ms-0", arg=[job["jid"]])) != [{"ms-0": {}}], "it runs")
    same = {"jid": job["jid"], "arg": shell, "timeout": 2, "gather_job_timeout": 2}
    (mine,) = engine.run(local("cmd.run", "ms-0", **same))
    assert set(mine) == {"ms-0"} and "canary" not in mine["ms-0"]


@FIRST_SERIES
def test_parallel_jobs_have_their_own_returns(salt, start_engine):
    count = 50  # a minion starts about eight processes a second
    engine = start_engine({"rest_fcgi": {"max_threads": count + 10}})
    minions = list(salt.minions)

    def echo(number):
        minion = minions[number % len(minions)]
        (ret,) = engine.run(local("test.arg", minion, arg=[f"request {number}"], timeout=90), timeout=180)
        assert ret[minion]["args"] == [f"request {number}"]
        return ret[minion]["kwargs"]["__pub_jid"]

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        assert len(set(pool.map(echo, range(count)))) == count


@pytest.mark.parametrize("salt", ["3008"], indirect=True)
def test_an_unknown_runner_is_not_available(engine):
    reply = engine.post(call("runner", "nosuch.fun"))
    assert (reply.status, reply.ret) == (400, "'nosuch.fun' is not available.")
    assert JID.fullmatch(reply.json["jid"])
    reply = engine.post(call("runner", "nosuch.fun", cred=user("curious")))
    assert reply.status == 504
    assert reply.ret.startswith("The Salt Master did not start the runner 'nosuch.fun' within 10 seconds")
