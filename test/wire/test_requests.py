# SPDX-License-Identifier: MIT
"""What HTTP asks of the one URL: methods, paths, content types, bodies that are no lowstate."""

import json

import pytest

from support.api import JSON, chunk, local, without


def refused(reply, status, text):
    assert (reply.status, reply.json) == (status, {"return": text})
    assert reply.spaced_as_python and reply.headers["content-type"].startswith("application/json")


def test_get_says_what_this_is_and_which_clients_are_on(api):
    reply = api.request("GET")
    assert reply.status == 200 and "POST" in reply.ret
    assert "local" in reply.json["clients"] and "ssh" not in reply.json["clients"]


def test_head_answers_without_a_body(api):
    get, head = api.request("GET"), api.request("HEAD")
    assert (head.status, head.text) == (200, "")
    assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(api, method):
    reply = api.request(method, body="[]", headers=JSON)
    refused(reply, 405, "405: Method Not Allowed")
    assert reply.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/run", "/x/", "/login", "//x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_other_path_is_not_found(api, method, path):
    body = json.dumps([local("test.ping")]) if method == "POST" else None
    refused(api.request(method, path, body, JSON), 404, "404: Not Found")


def test_a_query_string_changes_nothing(api):
    reply = api.request("POST", "/?x=1", json.dumps([local("test.ping", tgt="ms-0")]), JSON)
    assert reply.ret == [{"ms-0": True}]


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "Application/JSON", "application/json ;x=y"],
)
def test_a_media_types_parameters_and_case_do_not_change_it(api, content_type):
    assert api.raw("[]", content_type).text == '{"return": []}'


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", None]
)
def test_any_other_content_type_is_refused(api, content_type):
    refused(api.raw("[]", content_type), 406, "406: JSON required")


def test_another_charset_is_refused(api):
    assert api.raw("[]", "application/json; charset=latin-1").status == 406


def test_an_empty_list_returns_an_empty_list(api):
    reply = api.raw("[]")
    assert (reply.status, reply.text) == (200, '{"return": []}')


def test_one_object_is_a_list_of_one(api):
    assert api.raw(json.dumps(local("test.ping", tgt="ms-0"))).ret == [{"ms-0": True}]


@pytest.mark.parametrize("body", ["", "{", "[1,]", "nonsense", '["\\ud800"]', "[NaN]", "[] []", '[{"a": "\x01"}]'])
def test_a_body_that_is_no_json_is_refused(api, body):
    reply = api.raw(body)
    assert reply.status == 400 and reply.ret.startswith("400: ")


def test_a_body_that_is_no_utf_8_is_refused(api):
    assert api.raw(b'["\xff\xfe"]').status == 400


@pytest.mark.parametrize("body", ["42", "null", '"text"', "true"])
def test_any_other_json_value_is_refused(api, body):
    reply = api.raw(body)
    assert reply.status == 400 and "list of lowstate" in reply.ret


@pytest.mark.parametrize("chunk", ["text", 1, None, []])
@pytest.mark.parametrize("at", [0, 2])
def test_a_chunk_that_is_no_object_is_named_by_its_index(api, chunk, at):
    low = [local("test.ping")] * 3
    low[at] = chunk
    kind = type(chunk).__name__
    refused(api.post(*low), 400, f"Lowstate chunk {at}: it must be an object; found {kind}.")


def test_a_missing_client_is_an_unknown_one(api):
    refused(api.post(without(local("test.ping"), "client")), 400, "Invalid client specified: 'None'")


@pytest.mark.parametrize("key", ["fun", "tgt"])
def test_a_missing_key_is_named_with_its_chunk(api, key):
    reply = api.post(local("test.ping"), without(local("test.ping"), key))
    needed = "a local chunk needs 'client', 'tgt' and 'fun'"
    refused(reply, 400, f"Lowstate chunk 1: '{key}' is missing; {needed}.")


def test_an_unknown_client_is_refused(api):
    refused(api.post(chunk("foo", "test.ping", tgt="*")), 400, "Invalid client specified: 'foo'")


@pytest.mark.parametrize("name", ["run", "opts", "__class__", "", "LOCAL", "x" * 100000], ids=lambda name: name[:9])
def test_no_client_name_reaches_anything_but_a_client(api, name):
    assert api.post(chunk(name, "test.ping", tgt="*")).status == 400


def test_the_client_ssh_is_not_served_by_this_engine(start, front):
    api = front(start({"netapi_enable_clients": ["ssh"]}))
    sentence = "Client 'ssh' is not served by the embedded engine: it takes a Salt Master's host (engine: salt)."
    refused(api.post(chunk("ssh", "test.ping", tgt="*")), 400, sentence)
    assert api.post({**chunk("ssh", "test.ping", tgt="*"), "eauth": "nosuch"}).status == 401


def test_a_client_that_is_not_enabled_is_refused(start, front):
    api = front(start({"netapi_enable_clients": ["runner"]}))
    sentence = "Client disabled: 'local'. Add to 'netapi_enable_clients' master config option to enable."
    refused(api.post(local("test.ping")), 400, sentence)
    assert api.run(chunk("runner", "manage.up")) == [["ms-0", "ms-1", "ms-2"]]


def test_salt_issue_64368_every_client_is_disabled_where_none_is_enabled(start, front):
    api = front(start({"netapi_enable_clients": None}))
    for client in ["local", "local_async", "local_batch", "local_subset"]:
        assert api.post(chunk(client, "test.ping", tgt="*")).ret.startswith(f"Client disabled: '{client}'.")
    for client in ["runner", "runner_async", "wheel", "wheel_async"]:
        assert api.post(chunk(client, "key.list_all")).ret.startswith(f"Client disabled: '{client}'.")


def test_too_many_chunks_are_refused(api):
    reply = api.post(*[local("test.ping")] * 101)
    assert reply.status == 400 and "100" in reply.ret


def test_deep_nesting_is_refused_and_the_next_request_is_answered(api):
    assert api.raw("[" * 5000 + "]" * 5000).status == 400
    assert api.raw("[]").status == 200


def test_a_target_type_that_is_not_there_says_so(api):
    reply = api.post(local("test.ping", tgt="%ms", tgt_type="range"))
    assert reply.status == 400 and "range" in reply.ret
