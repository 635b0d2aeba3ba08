# SPDX-License-Identifier: MIT
"""The client `local`: Salt's shapes, value by value."""

import json
import re

from support.api import chunk, local

NO_RESPONSE = (
    "Minion did not return. [No response]\nThe minions may not have all finished running and any remaining minions "
    "will return upon completion. To look up the return data for this job later, run the following command:\n\n"
    "salt-run jobs.lookup_jid "
)


def test_ping_returns_true_from_each_minion(api):
    assert api.run(local("test.ping")) == [{"ms-0": True, "ms-1": True, "ms-2": True}]


def test_salt_issue_59272_the_reply_is_spaced_as_python_and_its_length_is_counted_in_bytes(api):
    reply = api.post(local("test.echo", tgt="ms-0", arg=["grün ☃"]), local("test.ping"))
    assert reply.ret[0] == {"ms-0": "grün ☃"}
    assert reply.text.startswith('{"return": [{"ms-0": "gr')
    assert json.dumps(reply.json) == json.dumps(json.loads(reply.text))
    assert ", " in reply.text and '": ' in reply.text
    assert reply.headers["content-type"].split(";")[0] == "application/json"
    assert int(reply.headers["content-length"]) == len(reply.text.encode())


def test_ascii_replies_are_byte_for_byte_what_json_dumps_writes(api):
    reply = api.post(local("test.arg", tgt="ms-1", arg=["a", 1, 2.5, None, [], {}, {"b": [1, {}]}]))
    assert reply.spaced_as_python


def test_two_chunks_are_answered_in_their_order(api):
    assert api.run(local("test.ping"), chunk("runner", "manage.up")) == [
        {"ms-0": True, "ms-1": True, "ms-2": True},
        ["ms-0", "ms-1", "ms-2"],
    ]


def test_an_unknown_function_is_each_minions_answer(api):
    text = "'nosuch.fun' is not available."
    assert api.run(local("nosuch.fun")) == [{"ms-0": text, "ms-1": text, "ms-2": text}]


def test_salt_issue_20301_a_target_that_matches_nothing_gives_an_empty_object(api):
    reply = api.post(local("test.ping", tgt="nosuch*"))
    assert (reply.status, reply.text) == (200, '{"return": [{}]}')


def test_a_listed_id_that_does_not_exist_did_not_return(api):
    (ret,) = api.run(local("test.ping", tgt=["ms-0", "ms-9"], tgt_type="list"))
    assert ret["ms-0"] is True
    assert re.fullmatch(re.escape(NO_RESPONSE) + r"\d{20}", ret["ms-9"])


def test_saltgui_issue_738_a_listed_id_that_does_not_exist_did_not_return_in_full(api):
    (ret,) = api.run(local("test.ping", tgt="ms-0,ms-9", tgt_type="list", full_return=True))
    assert ret["ms-9"]["out"] == "no_return" and ret["ms-9"]["retcode"] == 1
    assert ret["ms-9"]["ret"].startswith(NO_RESPONSE)


def test_a_function_that_raises_says_so(api):
    (ret,) = api.run(local("test.exception", tgt="ms-0", arg=["boom"]))
    assert ret["ms-0"].startswith("The minion function caused an exception: ")
    assert "boom" in ret["ms-0"]


def test_an_argument_too_many_is_each_minions_answer(api):
    (ret,) = api.run(local("test.ping", tgt="ms-0", arg=["surplus"]))
    assert ret["ms-0"].startswith("Passed invalid arguments to test.ping: ")


def test_two_names_in_one_text_are_no_function(api):
    (ret,) = api.run(local("test.ping,test.echo", tgt="ms-0"))
    assert ret["ms-0"] == "'test.ping,test.echo' is not available."


def test_one_argument_needs_no_list(api):
    (text,) = api.run(local("test.echo", tgt="ms-0", arg="abc"))
    (number,) = api.run(local("test.arg", tgt="ms-0", arg=5))
    assert text == {"ms-0": "abc"}
    assert number["ms-0"]["args"] == [5]


def test_salt_issue_47208_full_return_has_the_exit_code_and_the_job(api):
    (ret,) = api.run(local("test.ping", full_return=True))
    assert set(ret) == {"ms-0", "ms-1", "ms-2"}
    one = ret["ms-2"]
    assert one["ret"] is True and one["retcode"] == 0
    assert re.fullmatch(r"\d{20}", one["jid"])


def test_arguments_reach_the_function_as_they_were_sent(api):
    args, kwarg = ["a", 1, 2.5, None], {"b": {"c": [1]}}
    (ret,) = api.run(local("test.arg", tgt=["ms-0", "ms-1"], tgt_type="list", arg=args, kwarg=kwarg))
    assert set(ret) == {"ms-0", "ms-1"}
    got = ret["ms-0"]
    jid = got["kwargs"].pop("__pub_jid")
    assert re.fullmatch(r"\d{20}", jid)
    assert got == {
        "args": args,
        "kwargs": {
            "b": {"c": [1]},
            "__pub_fun": "test.arg",
            "__pub_arg": [*args, kwarg],
            "__pub_tgt": ["ms-0", "ms-1"],
            "__pub_ret": "",
            "__pub_tgt_type": "list",
            "__pub_user": "saltdev",
        },
    }


def test_big_integers_keep_their_digits(api):
    reply = api.raw(
        '[{"eauth": "file", "username": "saltdev", "password": "x", "client": "local", "tgt": "ms-0",'
        ' "fun": "test.arg", "arg": [123456789012345678901234567890]}]'
    )
    assert '"args": [123456789012345678901234567890]' in reply.text


def test_of_two_equal_keys_the_last_wins(api):
    reply = api.raw(
        '[{"eauth": "file", "username": "saltdev", "password": "x", "client": "local", "tgt": "ms-0",'
        ' "fun": "test.nosuch", "fun": "test.ping"}]'
    )
    assert reply.ret == [{"ms-0": True}]


def test_cve_2021_25283_a_template_comes_back_as_it_is(api):
    assert api.run(local("test.echo", tgt="ms-0", arg=["{{7*7}}"])) == [{"ms-0": "{{7*7}}"}]


def test_compound_functions_return_a_map_by_function(api):
    (ret,) = api.run(local(["test.ping", "test.echo"], arg=[[], ["hi"]]))
    one = {"test.ping": True, "test.echo": "hi"}
    assert ret == {"ms-0": one, "ms-1": one, "ms-2": one}


def test_minions_are_found_by_regular_expression(api):
    assert api.run(local("test.ping", tgt="ms-[01]", tgt_type="pcre")) == [{"ms-0": True, "ms-1": True}]


def test_minions_are_found_by_grain(api):
    (grains,) = api.run(local("grains.item", tgt="ms-0", arg=["kernel"]))
    kernel = grains["ms-0"]["kernel"]
    (ret,) = api.run(local("test.ping", tgt=f"kernel:{kernel}", tgt_type="grain"))
    assert set(ret) == {"ms-0", "ms-1", "ms-2"}


def test_minions_are_found_by_a_compound_expression(api):
    (ret,) = api.run(local("test.ping", tgt="ms-* and not ( ms-0 or E@ms-1 )", tgt_type="compound"))
    assert ret == {"ms-2": True}


def test_a_jid_of_the_callers_own_is_the_jobs(api):
    (ret,) = api.run(local("test.ping", tgt="ms-0", jid="20200101000000000001", full_return=True))
    assert ret["ms-0"]["jid"] == "20200101000000000001"


def test_salt_issue_40477_a_batch_gives_one_item_a_return(api):
    items = api.run({**local("test.ping"), "client": "local_batch", "batch": "1"})
    assert sorted(name for item in items for name in item) == ["ms-0", "ms-1", "ms-2"]
    assert all(list(item.values()) == [True] for item in items)


def test_a_batch_may_be_given_in_percent(api):
    items = api.run({**local("test.ping"), "client": "local_batch", "batch": "50%"})
    assert sorted(name for item in items for name in item) == ["ms-0", "ms-1", "ms-2"]


def test_a_subset_takes_that_many_minions(api):
    (ret,) = api.run({**local("test.ping"), "client": "local_subset", "subset": 2})
    assert len(ret) == 2 and set(ret) < {"ms-0", "ms-1", "ms-2"}


def test_full_return_of_several_functions_has_the_exit_code_of_each(api):
    (ret,) = api.run(local(["test.ping", "test.retcode"], tgt="ms-0", arg=[[], [7]], full_return=True))
    assert ret["ms-0"]["retcode"] == {"test.ping": 0, "test.retcode": 7}
    assert ret["ms-0"]["ret"] == {"test.ping": True, "test.retcode": True}
