# SPDX-License-Identifier: MIT
"""Nothing runs unless all of it may run; nothing that ran is lost."""

import pytest

from support.api import chunk, local, without
from support.daemon import SANITIZED
from support.process import wait_until

GOOD = {**local("test.ping"), "client": "local_async"}

ADMIN = {"eauth": "sharedsecret", "username": "admin", "password": "shared"}

BAD = {
    "form": (without(local("test.ping"), "fun"), 400),
    "client": (chunk("foo", "test.ping", tgt="*"), 400),
    "disabled client": (chunk("wheel", "key.list_all"), 400),
    "no credentials": (without(local("test.ping"), "eauth", "username", "password"), 401),
    "wrong password": ({**local("test.ping"), **ADMIN, "password": "wrong"}, 401),
    "user without rules": ({**local("test.ping"), "username": "nobody"}, 401),
    "permission": (local("test.echo", arg=["x"]), 401),
    "runner": (chunk("runner", "nosuch.fun"), 401),
}


@pytest.fixture
def narrow(start, front):
    """`saltdev` may only ping and use job runners; `nobody` may nothing; wheels are off."""
    return front(
        start(
            {
                "netapi_enable_clients": ["local", "local_async", "runner"],
                "sharedsecret": "shared",
                "external_auth": {
                    "file": {"saltdev": ["test.ping", {"@runner": ["jobs.*"]}]},
                    "sharedsecret": {"admin": ["test.ping"]},
                },
            }
        )
    )


@pytest.mark.parametrize("what", BAD)
def test_a_list_with_one_bad_chunk_runs_nothing(narrow, what):
    bad, status = BAD[what]
    for low in ([bad, GOOD], [GOOD, bad], [GOOD, bad, GOOD]):
        assert narrow.post(*low).status == status
    assert narrow.run(chunk("runner", "jobs.list_jobs")) == [{}]
    (job,) = narrow.run(GOOD)
    assert list(narrow.run(chunk("runner", "jobs.list_jobs"))[0]) == [job["jid"]], "what runs is listed"


def test_the_right_password_is_what_the_wrong_one_lacks(narrow):
    assert narrow.post({**local("test.ping"), **ADMIN}).status == 200


def test_what_ran_before_a_failure_is_in_the_reply(start, front):
    api = front(start({"rest_fcgi": {"request_timeout": 1, "shutdown_timeout": 0}}))
    reply = api.post(local("test.ping"), local("test.sleep", arg=[30]), local("test.ping"))
    assert reply.status == 504 and isinstance(reply.ret, str)
    (first,) = reply.json["completed"]
    assert first["return"] == {"ms-0": True, "ms-1": True, "ms-2": True} and len(first["jid"]) == 20


def test_salt_api_issue_139_a_job_that_outlives_the_request_timeout_is_named(start, front):
    api = front(start({"rest_fcgi": {"request_timeout": 1, "shutdown_timeout": 0}}))
    reply = api.post(local("test.sleep", arg=[2]))
    jid = reply.json["jid"]
    assert reply.status == 504 and len(jid) == 20
    assert api.run(chunk("runner", "jobs.list_job", jid=jid))[0]["Function"] == "test.sleep"


def test_more_than_fits_into_a_reply_is_a_507_and_the_job_goes_on(start, front):
    api = front(start({"rest_fcgi": {"max_reply_bytes": 5000}}))
    reply = api.post(local("test.ping"), local("test.echo", arg=["x" * 2000]), local("test.ping"))
    assert reply.status == 507 and reply.ret == "What was returned has more than 5000 bytes (max_reply_bytes)"
    (first,) = reply.json["completed"]
    assert first["return"] == {"ms-0": True, "ms-1": True, "ms-2": True}
    partial, jid = reply.json["partial"], reply.json["jid"]
    assert partial["jid"] == jid and list(partial["return"].values()) == ["x" * 2000] * 2
    all_of_them = [{"ms-0": True, "ms-1": True, "ms-2": True}]
    wait_until(lambda: api.run(chunk("runner", "jobs.exit_success", jid=jid)) == all_of_them, "the job has ended")


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer keeps freed memory")
def test_what_does_not_fit_into_a_reply_is_not_gathered(start, front):
    """A hundred minions return 50 MB, of which a reply may have one."""
    minions = [f"ms-{number}" for number in range(100)]
    section = {"max_reply_bytes": "1M", "jobs_bytes_kept": "1K", "embedded": {"minions": minions}}
    daemon = start({"master_job_cache": "memory", "rest_fcgi": section})
    api = front(daemon)
    assert len(api.run(local("test.ping"))[0]) == 100
    before = int(daemon.status("VmHWM"))
    assert api.post(local("test.echo", arg=["x" * 500_000])).status == 507
    assert int(daemon.status("VmHWM")) < before + 20_000
