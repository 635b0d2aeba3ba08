# SPDX-License-Identifier: MIT
"""Hostile bodies: YAML aliases, which would stand for more than was sent."""

import json

import pytest

from support.api import CRED, JSON, chunk, local
from support.rest import api_of, login, serving, session

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
YAML = {"Content-Type": "application/x-yaml"}


def refuses(reply, *words):
    assert reply.status == 400 and all(word in reply.text for word in ("alias", *words)), reply


@pytest.mark.parametrize("module", ["rest_cherrypy", "rest_tornado"])
def test_aliases_in_yaml_bodies_are_refused(start, module):
    changes = serving(module)
    start(changes)
    api = api_of(changes, module)
    for kind in ("application/x-yaml", "text/yaml"):
        for body in ("username: &a x\npassword: *a\n", "[&a x, *a]", "a: &a {b: 1}\nc: {<<: *a}\n", "{&a b: 1, *a : 2}"):
            refuses(api.request("POST", "/login", body, {"Content-Type": kind}), "line ")
    good = "\n".join(f"{key}: &{key} {value}" for key, value in CRED.items())
    assert api.request("POST", "/login", good, YAML).status == 200, "an anchor alone stands for nothing"


def test_aliases_in_a_form_are_refused(start):
    changes = serving()
    start(changes)
    api = api_of(changes)
    for field in ("arg", "arg[]", "kwarg"):
        refuses(api.request("POST", "/login", f"{field}=[%26a x, *a]", FORM), field.strip("[]"), "line 1")


@pytest.mark.parametrize("module", ["rest_wsgi", "rest_cherrypy", "rest_tornado"])
def test_aliases_in_arguments_that_are_yaml_are_refused(start, front, module):
    changes = serving(module) if module != "rest_wsgi" else {}
    daemon = start(changes)
    api = front(daemon) if module == "rest_wsgi" else api_of(changes, module)
    headers = {**JSON, **(session(login(api)) if module != "rest_wsgi" else {})}
    good = local("test.ping", tgt="ms-0")
    for low in (
        local("test.arg", arg=["x", "a=[&a x, *a]"]),
        local("test.arg", arg="a={b: &a x, c: *a}"),
        local(["test.arg", "test.ping"], arg=[["a=[&a x, *a]"], []]),
        chunk("runner", "test.arg", arg=["[&a x, *a]"]),
        chunk("runner", "test.arg", arg=["a=[&a x, *a]"]),
    ):
        refuses(api.request("POST", "/", json.dumps([good, low]), headers), "chunk 1", "'arg'")
