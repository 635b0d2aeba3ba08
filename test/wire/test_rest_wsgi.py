# SPDX-License-Identifier: MIT

import json

import pytest

from support.api import JSON, chunk, local, without
from support.daemon import SANITIZED
from support.process import wait_until

LIMIT = 32 << 20


def padded(size):
    low = json.dumps([local("test.ping", tgt="ms-0", metadata={"pad": ""})])
    return low.replace('"pad": ""', '"pad": "%s"' % ("x" * (size - len(low))))


def in_pieces(text, size=65536):
    data = text.encode()
    return iter([data[at : at + size] for at in range(0, len(data), size)])


def check_too_large(reply):
    assert reply.status == 413 and reply.ret.startswith("413"), reply
    assert reply.headers["content-type"].startswith("application/json")


def test_a_body_over_the_web_servers_limit_gets_413_in_json(api):
    check_too_large(api.request(body=padded(2 * LIMIT + 1), headers={**JSON, "Expect": "100-continue"}))


@pytest.mark.parametrize("buffering", ["on", "off"])
def test_caddy_issue_5236_a_chunked_upload_is_measured_while_it_arrives(daemon, front, buffering):
    api = front(daemon, http=f"fastcgi_request_buffering {buffering};")
    for size in (200000, 20 << 20):
        assert api.request(body=in_pieces(padded(size)), headers=JSON, chunked=True).ret == [{"ms-0": True}]
    large = api.request(body=in_pieces(padded(LIMIT + 1)), headers=JSON, chunked=True)
    check_too_large(large)
    assert "rest_fcgi: max_request_body_size" in large.ret and str(LIMIT) in large.ret
    assert api.request(body=in_pieces(padded(1000)), headers=JSON, chunked=True).status == 200


def test_salt_issue_43891_output_that_is_not_utf_8_does_not_break_the_reply(api):
    reply = api.post(local("cmd.run", tgt="ms-0", arg=["printf '\\377\\001x'"], kwarg={"python_shell": True}))
    assert reply.status == 200 and reply.ret[0]["ms-0"] == "\ufffd\x01x"
    assert reply.spaced_as_python


def test_cve_2021_25283_a_template_in_an_argument_is_not_rendered(api):
    assert api.run(local("test.echo", tgt="ms-0", arg=["{{7*7}}"])) == [{"ms-0": "{{7*7}}"}]


def test_saltgui_issue_738_an_unknown_listed_id_has_no_return_in_full_return(api):
    (ret,) = api.run(local("test.ping", tgt="ms-0,ms-9", tgt_type="list", full_return=True))
    assert ret["ms-9"]["out"] == "no_return" and ret["ms-9"]["retcode"] == 1
    assert ret["ms-9"]["ret"].startswith("Minion did not return. [No response]\nThe minions may not have all finished running")


GOOD = {**local("test.ping"), "client": "local_async"}
BAD = {
    "form": (without(local("test.ping"), "fun"), 400),
    "client": (chunk("foo", "test.ping", tgt="*"), 400),
    "disabled client": (chunk("wheel", "key.list_all"), 400),
    "no credentials": (without(local("test.ping"), "eauth", "username", "password"), 401),
    "user without rules": ({**local("test.ping"), "username": "nobody"}, 401),
    "permission": (local("test.echo", arg=["x"]), 401),
    "runner": (chunk("runner", "nosuch.fun"), 401),
}


def test_a_list_with_one_bad_chunk_runs_nothing(start, front):
    rules = {"file": {"saltdev": ["test.ping", {"@runner": ["jobs.*"]}]}}
    api = front(start({"netapi_enable_clients": ["local", "local_async", "runner"], "external_auth": rules}))
    for name, (bad, status) in BAD.items():
        for low in ([bad, GOOD], [GOOD, bad], [GOOD, bad, GOOD]):
            assert api.post(*low).status == status, name
    assert api.run(chunk("runner", "jobs.list_jobs")) == [{}]
    (job,) = api.run(GOOD)
    assert list(api.run(chunk("runner", "jobs.list_jobs"))[0]) == [job["jid"]], "a job that runs is listed"


def test_salt_api_issue_139_a_timeout_reply_names_the_job(start, front):
    api = front(start({"rest_fcgi": {"request_timeout": 1, "shutdown_timeout": 0}}))
    reply = api.post(local("test.sleep", arg=[2]))
    jid = reply.json["jid"]
    assert reply.status == 504 and len(jid) == 20
    assert api.run(chunk("runner", "jobs.list_job", jid=jid))[0]["Function"] == "test.sleep"


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer keeps freed memory")
def test_returns_over_max_reply_bytes_are_not_kept_in_memory(start, front):
    """A hundred minions return 50 MB. A reply may have 1 MB."""
    minions = [f"ms-{number}" for number in range(100)]
    section = {"max_reply_bytes": "1M", "jobs_bytes_kept": "1K", "embedded": {"minions": minions}}
    daemon = start({"master_job_cache": "memory", "rest_fcgi": section})
    api = front(daemon)
    assert len(api.run(local("test.ping"))[0]) == 100
    before = int(daemon.status("VmHWM"))
    assert api.post(local("test.echo", arg=["x" * 500_000])).status == 507
    assert int(daemon.status("VmHWM")) < before + 20_000


def test_salt_issue_38466_each_chunk_has_one_audit_line_without_its_arguments(start, front):
    daemon = start({"rest_fcgi": {"audit_format": "json"}, "log_level": "quiet"})
    api = front(daemon)

    def lines():
        return [json.loads(line) for line in daemon.log().splitlines() if line.startswith("{") and line.endswith("}")]

    api.run(local("test.echo", tgt="ms-0", arg=["secret-argument"]), chunk("runner", "manage.up"))
    api.post({**local("test.ping"), "username": "nobody"})
    wait_until(lambda: len(lines()) >= 3, "the audit lines are there")
    echo, up, refused = lines()
    assert (echo["user"], echo["eauth"], echo["client"], echo["fun"]) == ("saltdev", "file", "local", "test.echo")
    assert echo["tgt"] == "ms-0" and echo["remote_addr"] == "127.0.0.1" and len(echo["jid"]) == 20
    assert (up["client"], up["fun"]) == ("runner", "manage.up")
    assert "secret-argument" not in str([echo, up]) and "password" not in str([echo, up])
    assert refused["user"] == "nobody" and refused["outcome"] not in ("ok", "success")
