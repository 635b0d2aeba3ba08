# SPDX-License-Identifier: MIT
"""Hostile bodies use little memory. A YAML alias can expand to more than the client sent."""

import json
import urllib.parse

import pytest

from support.api import CRED, JSON, chunk, local
from support.daemon import SANITIZED
from support.rest import api_of, serving

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
YAML = {"Content-Type": "application/x-yaml"}
SIZE = 300_000
MOST = 20


def numbered(form, size, between=","):
    """Returns a text of numbered items that is at most `size` long."""
    return between.join(form % number for number in range(size // (len(form % 10000) + len(between))))


def nested(size, depth=90):
    one = "[" * depth + "]" * depth
    return "[" + ",".join([one] * (size // (2 * depth + 1))) + "]"


JSON_SHAPES = {
    "numbers": lambda size: "[" + "1," * (size // 2) + "1]",
    "nested": nested,
    "keys": lambda size: "{" + numbered('"%x":1', size) + "}",
    "one key": lambda size: "{" + ",".join(['"a":1'] * (size // 6)) + "}",
    "arguments": lambda size: json.dumps(local("test.arg", arg=["a=" + "[" + "1," * (size // 2) + "1]"])),
    "runner's arguments": lambda size: json.dumps(chunk("runner", "test.arg", arg=["{" + numbered("%x", size) + "}"])),
}
YAML_SHAPES = {
    "nested": nested,
    "deep block lists": lambda size: "- " * (size // 2),
    "flow keys": lambda size: "{" + numbered("%x", size) + "}",
    "block keys": lambda size: numbered("%x: ", size, "\n"),
    "anchors": lambda size: "[" + numbered("&%x a", size) + "]",
    "aliases": lambda size: "[&a " + "x" * (size // 2) + ", *a" * (size // 8) + "]",
    "merges": lambda size: "{<<: " * 90 + "{" + numbered("%x: 1", size) + "}" + "}" * 90,
}
FORM_SHAPES = {
    "names": lambda size: numbered("%x=", size, "&"),
    "a value": lambda size: "username=" + "x" * size,
    "arg: aliases": lambda size: "arg=" + urllib.parse.quote(YAML_SHAPES["aliases"](size), safe="[]{},*: \n"),
    "kwarg: keys": lambda size: "kwarg=" + YAML_SHAPES["flow keys"](size),
}
READERS = [("rest_wsgi", JSON, JSON_SHAPES), ("rest_cherrypy", YAML, YAML_SHAPES), ("rest_cherrypy", FORM, FORM_SHAPES)]


@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer uses more memory")
@pytest.mark.parametrize("module, headers, shapes", READERS, ids=["json", "yaml", "form"])
def test_a_body_uses_at_most_twenty_times_its_size_in_memory(start, front, module, headers, shapes):
    """Each body is sent to a new process, because a process keeps memory after a large body."""
    path, took = "/" if module == "rest_wsgi" else "/login", {}
    for name, make in shapes.items():
        changes = serving(module) if module != "rest_wsgi" else {"external_auth": {"file": {CRED["username"]: ["@jobs"]}}}
        daemon = start(changes)
        api = front(daemon) if module == "rest_wsgi" else api_of(changes, module)
        api.request("POST", path, "{}", headers)
        body, resting = make(SIZE), int(daemon.status("VmRSS"))
        assert 0.7 * SIZE < len(body) < 1.3 * SIZE, (name, len(body))
        reply = api.request("POST", path, body, headers)
        assert reply.status in (200, 400, 401), (name, reply)
        took[name] = (int(daemon.status("VmHWM")) - resting) * 1024 / len(body)
        assert daemon.stop() == 0
    assert not {name: times for name, times in took.items() if times > MOST}, took
