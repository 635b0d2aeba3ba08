# SPDX-License-Identifier: MIT
"""The clients `runner` and `wheel`, with their asynchronous twins."""

import re

from support.api import chunk

JID = r"\d{20}"


def test_a_runner_returns_its_value(api):
    reply = api.post(chunk("runner", "manage.up"))
    assert (reply.status, reply.text) == (200, '{"return": [["ms-0", "ms-1", "ms-2"]]}')


def test_a_runner_in_full_returns_its_event(api):
    (ret,) = api.run(chunk("runner", "manage.up", full_return=True))
    data = ret["data"]
    assert re.fullmatch(JID, data["jid"]) and ret["tag"] == f"salt/run/{data['jid']}/ret"
    assert data["fun"] == "runner.manage.up" and data["user"] == "saltdev" and data["success"] is True
    assert data["return"] == ["ms-0", "ms-1", "ms-2"]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", data["_stamp"]) and "fun_args" in data


def test_a_runners_arguments_stand_in_its_event(api):
    (ret,) = api.run(chunk("runner", "test.arg", arg=["a", 1], kwarg={"b": 2}, c=3, full_return=True))
    assert ret["data"]["fun"] == "runner.test.arg" and ret["data"]["fun_args"][:2] == ["a", 1]
    assert ret["data"]["return"]["args"] == ["a", 1]
    assert ret["data"]["return"]["kwargs"].items() >= {"b": 2, "c": 3}.items()


def test_a_runner_that_outlives_its_timeout_is_named(start, front):
    api = front(start({"rest_fcgi": {"shutdown_timeout": 0}}))
    reply = api.post(chunk("runner", "test.sleep", arg=[30], timeout=1))
    assert reply.status == 504
    assert re.fullmatch(rf"RunnerClient job '{JID}' timed out", reply.ret)


def test_unknown_keys_are_a_runners_keyword_arguments(api):
    (jobs,) = api.run(chunk("runner", "jobs.list_jobs", search_function="never.*"))
    assert jobs == {}


def test_an_asynchronous_runner_gives_its_tag_and_jid(api):
    (ret,) = api.run(chunk("runner_async", "manage.up"))
    assert re.fullmatch(JID, ret["jid"]) and ret == {"tag": f"salt/run/{ret['jid']}", "jid": ret["jid"]}


def test_an_unknown_runner_is_refused(api):
    reply = api.post(chunk("runner", "nosuch.fun"))
    assert (reply.status, reply.text) == (400, '{"return": "\'nosuch.fun\' is not available."}')


def test_a_wheel_returns_its_event(api):
    (ret,) = api.run(chunk("wheel", "key.list_all"))
    data = ret["data"]
    assert re.fullmatch(JID, data["jid"]) and ret["tag"] == data["tag"] == f"salt/wheel/{data['jid']}"
    assert data["fun"] == "wheel.key.list_all" and data["user"] == "saltdev" and data["success"] is True
    assert data["return"] == {
        "minions": ["ms-0", "ms-1", "ms-2"],
        "minions_pre": [],
        "minions_rejected": [],
        "minions_denied": [],
        "local": ["master.pem", "master.pub"],
    }


def test_an_asynchronous_wheel_gives_its_tag_and_jid(api):
    (ret,) = api.run(chunk("wheel_async", "key.list_all"))
    assert re.fullmatch(JID, ret["jid"]) and ret == {"tag": f"salt/wheel/{ret['jid']}", "jid": ret["jid"]}


def test_an_unknown_wheel_is_a_reply_without_success_in_one_sentence(api):
    (ret,) = api.run(chunk("wheel", "nosuch.fun"))
    assert ret["data"]["success"] is False
    assert "nosuch.fun" in ret["data"]["return"] and "Traceback" not in ret["data"]["return"]


def test_the_documentation_of_runners_and_wheels_is_theirs(api):
    (runners,) = api.run(chunk("runner", "doc.runner"))
    (wheels,) = api.run(chunk("runner", "doc.wheel"))
    assert {"manage.present", "jobs.last_run", "cache.grains"} <= set(runners)
    assert {"key.finger", "config.values", "minions.connected"} <= set(wheels)


def test_config_values_hold_no_secret(start, front):
    api = front(start({"sharedsecret": "hush-hush", "timeout": 7}))
    (ret,) = api.run(chunk("wheel", "config.values"))
    values = ret["data"]["return"]
    assert values["timeout"] == 7 and values["rest_fcgi"]["embedded"]["minions"] == ["ms-0", "ms-1", "ms-2"]
    assert "hush" not in str(values) and "saltdev" not in str(values)
