# SPDX-License-Identifier: MIT

import pytest
from comparison import JID
from rows import call, local, user
from support.process import wait_until

FIRST_SERIES = pytest.mark.parametrize("salt", ["3006"], indirect=True)


@FIRST_SERIES
def test_lookup_jid_finds_an_asynchronous_job(salt, engine):
    (job,) = engine.run(local("test.echo", client="local_async", arg=["later"]))

    def lookup(ask):
        found = ask(call("runner", "jobs.lookup_jid", kwarg={"jid": job["jid"]}))
        return found if len(found) == len(salt.minions) else None

    ours = wait_until(lambda: lookup(lambda low: engine.run(low)[0]), "all minions have returned")
    assert ours == dict.fromkeys(salt.minions, "later")
    assert lookup(lambda low: salt.netapi(low)["return"]) == ours


@pytest.fixture
def token(engine):
    (made,) = engine.run(call("runner", "auth.mk_token", kwarg=user("limited")))
    return made["token"]


@FIRST_SERIES
def test_a_token_of_the_master_has_the_permissions_of_its_user(salt, engine, token):
    low = {"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    assert engine.run(low) == [{"ms-0": True}] and salt.netapi(low) == {"return": {"ms-0": True}}
    beyond = {**low, "tgt": "ms-1"}
    assert engine.post(beyond).status == 401 and salt.netapi(beyond)["error"] == "AuthorizationError"


@FIRST_SERIES
def test_the_jid_of_another_users_job_returns_nothing_of_it(engine):
    shell = ["sleep 10; echo canary"]
    (job,) = engine.run(local("cmd.run", "ms-0", cred=user("admin"), client="local_async", arg=shell))
    wait_until(lambda: engine.run(local("saltutil.find_job", "ms-0", arg=[job["jid"]])) != [{"ms-0": {}}], "it runs")
    same = {"jid": job["jid"], "arg": shell, "timeout": 2, "gather_job_timeout": 2}
    (mine,) = engine.run(local("cmd.run", "ms-0", **same))
    assert set(mine) == {"ms-0"} and "canary" not in mine["ms-0"]


@FIRST_SERIES
def test_ten_megabytes_of_a_return_arrive_whole(engine):
    """A return that arrives must be whole. The master sometimes loses a large return on its event bus."""
    whole = {"ms-0": ["x" * 100_000] * 100}
    low = local("wire.big", "ms-0", arg=[100_000, 100], timeout=6, gather_job_timeout=3)
    wait_until(lambda: engine.run(low) == [whole], "ten megabytes came through", 120)


@pytest.mark.parametrize("salt", ["3008"], indirect=True)
def test_an_unknown_runner_is_not_available(engine):
    reply = engine.post(call("runner", "nosuch.fun"))
    assert (reply.status, reply.ret) == (400, "'nosuch.fun' is not available.")
    assert JID.fullmatch(reply.json["jid"])
    reply = engine.post(call("runner", "nosuch.fun", cred=user("curious")))
    assert reply.status == 504
    assert reply.ret.startswith("The Salt Master did not begin 'nosuch.fun' within 10 seconds")
