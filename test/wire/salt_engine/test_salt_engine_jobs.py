# SPDX-License-Identifier: MIT
"""Jobs, tokens and deadlines with a real master."""

import time

import pytest
from comparison import JID
from rows import call, local, user
from support.process import TIMEOUT, wait_until

EVERY_LINE = pytest.mark.parametrize("salt", ["3006", "3007", "3008"], indirect=True)
ONE_LINE = pytest.mark.parametrize("salt", ["3006"], indirect=True)


@EVERY_LINE
def test_lookup_jid_finds_an_asynchronous_job(salt, engine):
    (job,) = engine.run(local("test.echo", client="local_async", arg=["later"]))

    def lookup(ask):
        found = ask(call("runner", "jobs.lookup_jid", kwarg={"jid": job["jid"]}))
        return found if len(found) == len(salt.minions) else None

    ours = wait_until(lambda: lookup(lambda low: engine.run(low)[0]), "all minions have returned")
    assert ours == dict.fromkeys(salt.minions, "later")
    assert lookup(lambda low: salt.netapi(low)["return"]) == ours


def tokens(salt):
    """Returns the token files of the master."""
    return set((salt.home / "master/cache/tokens").iterdir())


@pytest.fixture
def token(engine):
    """A token from the master."""
    (made,) = engine.run(call("runner", "auth.mk_token", kwarg=user("limited")))
    return made["token"]


@ONE_LINE
def test_a_token_of_the_master_has_the_permissions_of_its_user(salt, engine, token):
    low = {"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    assert engine.run(low) == [{"ms-0": True}] and salt.netapi(low) == {"return": {"ms-0": True}}
    beyond = {**low, "tgt": "ms-1"}
    assert engine.post(beyond).status == 401 and salt.netapi(beyond)["error"] == "AuthorizationError"


@ONE_LINE
def test_a_token_removed_by_the_master_is_refused(salt, engine, token):
    low = {"token": token, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    engine.run(low)
    (salt.home / "master/cache/tokens" / token).unlink()
    assert engine.post(low).status == 401


@EVERY_LINE
def test_a_cached_login_survives_removed_tokens_of_the_master(salt, engine):
    low = local("test.ping", "ms-0", cred=user("admin"))
    engine.run(low)
    for token in tokens(salt):
        token.unlink()
    for one in (low, call("runner", "test.arg", user("admin")), call("wheel", "key.list_all", user("admin"))):
        engine.run(one)


@EVERY_LINE
def test_a_wrong_password_is_refused_after_a_right_one(engine):
    low = local("test.ping", "ms-0", cred=user("admin"))
    engine.run(low)
    assert engine.post({**low, "password": "wrong"}, address="198.51.100.77").status == 401
    engine.run(low)


@EVERY_LINE
def test_inline_login_reveals_node_groups_to_logged_in_users_only(salt, start_engine):
    engine = start_engine({"rest_fcgi": {"inline_login": True}})
    before = tokens(salt)

    def ask(group, cred):
        return engine.post(local("test.ping", group, cred=cred, tgt_type="nodegroup"))

    wrong = {**user("admin"), "password": "wrong"}
    assert ask("web", wrong).text == ask("nosuch", wrong).text
    assert ask("nosuch", wrong).status == 401
    for name in ("admin", "limited"):
        told = ask("nosuch", user(name))
        assert told.status == 400 and "Node group nosuch unavailable" in told.text
    assert ask("web", user("admin")).ret == [{"ms-0": True, "ms-1": True}]
    assert tokens(salt) == before


@EVERY_LINE
def test_the_jid_of_another_users_job_returns_nothing_of_it(engine):
    shell = ["sleep 10; echo canary"]
    (job,) = engine.run(local("cmd.run", "ms-0", cred=user("admin"), client="local_async", arg=shell))
    wait_until(lambda: engine.run(local("saltutil.find_job", "ms-0", arg=[job["jid"]])) != [{"ms-0": {}}], "it runs")
    same = {"jid": job["jid"], "arg": shell, "timeout": 2, "gather_job_timeout": 2}
    (mine,) = engine.run(local("cmd.run", "ms-0", **same))
    assert set(mine) == {"ms-0"} and "canary" not in mine["ms-0"]


@EVERY_LINE
def test_request_timeout_names_the_job_that_continues(start_engine, engine):
    hurried = start_engine({"rest_fcgi": {"request_timeout": 10}})
    begun = time.monotonic()
    reply = hurried.post(local("test.sleep", "ms-0", arg=[60]))
    assert reply.status == 504 and time.monotonic() - begun < 10 + TIMEOUT
    jid = JID.search(reply.text)[0]

    def runs():
        (running,) = engine.run(local("saltutil.find_job", "ms-0", arg=[jid]))
        return running["ms-0"].get("fun") == "test.sleep"

    wait_until(runs, "it runs")


@ONE_LINE
def test_a_failure_reply_has_earlier_returns(start_engine):
    engine = start_engine({"rest_fcgi": {"request_timeout": 15}})
    reply = engine.post(local("test.echo", "ms-0", arg=["first"]), local("test.sleep", "ms-0", arg=[60]))
    (completed,) = reply.json["completed"]
    assert reply.status == 504 and completed["return"] == {"ms-0": "first"} and JID.fullmatch(completed["jid"])


@ONE_LINE
def test_ten_megabytes_of_a_return_arrive_whole(engine):
    """The master sometimes loses such a large return on its event bus. A return that arrives must be whole."""
    whole = {"ms-0": ["x" * 100_000] * 100}
    low = local("wire.big", "ms-0", arg=[100_000, 100], timeout=6, gather_job_timeout=3)
    wait_until(lambda: engine.run(low) == [whole], "ten megabytes came through", 120)


@pytest.mark.parametrize("salt", ["3008"], indirect=True)
def test_an_unknown_runner_is_not_available(engine):
    """In this series the process of an unknown runner ends before its first event. A caller who may list all runners is
    told at once."""
    reply = engine.post(call("runner", "nosuch.fun"))
    assert (reply.status, reply.ret) == (400, "'nosuch.fun' is not available.")
    assert JID.fullmatch(reply.json["jid"])
    reply = engine.post(call("runner", "nosuch.fun", cred=user("curious")))
    assert reply.status == 504
    assert reply.ret.startswith("The Salt Master did not begin 'nosuch.fun' within 10 seconds")
