# SPDX-License-Identifier: MIT
"""Hostile bodies use little memory. A YAML alias can expand to more than the client sent."""

import json
import os
import shutil
import urllib.parse

import pytest

from support.api import CRED, JSON, chunk, local
from support.daemon import SANITIZED, Daemon
from support.process import short_directory
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


SLOW = "E@(.+)+[!?]"
MINIONS = [f"minion-{number:04}.example.org" for number in range(2000)]
SLOW_TARGETS = {
    "compound": [{"tgt": " or ".join([SLOW] * 125), "tgt_type": "compound"}],
    "pcre": [{"tgt": SLOW[2:], "tgt_type": "pcre"}],
    "grain_pcre": [{"tgt": "note:(.+)+[!?]", "tgt_type": "grain_pcre"}],
    "pillar_pcre": [{"tgt": "note:(.+)+[!?]", "tgt_type": "pillar_pcre"}],
    "globs": [{"tgt": " or ".join(["*a*b*c*d*e*f*g*h*!"] * 250), "tgt_type": "compound"}] * 100,
    "nodegroups": [{"tgt": " or ".join(["N@all"] * 250), "tgt_type": "compound"}] * 100,
    "many chunks": [{"tgt": f"(.+)+[!?]{at}", "tgt_type": "pcre"} for at in range(100)],
    "many patterns": [{"tgt": " or ".join(f"E@(a{{200}}b){{100}}{at}" for at in range(125)), "tgt_type": "compound"}] * 100,
    "ids": [{"tgt": "x," * 200000, "tgt_type": "list"}],
    "stars": [{"tgt": "*" * 1000000 + "!"}],
}


def used_cpu(daemon):
    fields = open(f"/proc/{daemon.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def many_minions():
    home = short_directory()
    declared = {minion: {"grains": {"note": minion}, "pillar": {"note": minion}} for minion in MINIONS}
    changes = {"nodegroups": {"all": "*"}, "rest_fcgi": {"embedded": {"minions": declared}}}
    changes["external_auth"] = {"file": {"saltdev": ["test.*", "pillar.*", "@runner"], "eve": ["test.ping"]}}
    daemon = Daemon(home, changes)
    yield daemon
    assert daemon.stop() == 0
    shutil.rmtree(home)


@pytest.mark.parametrize("targets", SLOW_TARGETS.values(), ids=SLOW_TARGETS)
def test_a_request_with_slow_targets_gets_400_within_a_bounded_time(many_minions, front, targets):
    api = front(many_minions)
    before = used_cpu(many_minions)
    reply = api.post(*(local("test.ping", **target) for target in targets))
    assert reply.status == 400 and ("too long" in reply.ret or "at most" in reply.ret), reply
    assert used_cpu(many_minions) - before < 5
    assert api.run(local("test.ping", tgt=MINIONS[0])) == [{MINIONS[0]: True}]


def test_a_user_without_the_right_gets_no_slow_comparison(many_minions, front):
    api = front(many_minions)
    for fun in ("test.echo", "cmd.run"):
        reply = api.post(local(fun, arg=["x"], **SLOW_TARGETS["compound"][0], username="eve"))
        assert reply.status == 401, reply


def test_a_runner_with_a_slow_target_gets_400(many_minions, front):
    reply = front(many_minions).post(chunk("runner", "cache.grains", kwarg=SLOW_TARGETS["compound"][0]))
    assert reply.status == 400 and "too long" in reply.ret, reply


def test_usual_patterns_for_two_thousand_minions_are_taken(many_minions, front):
    words = " or ".join(f"E@.*-0{number:03}\\.example\\.org$" for number in range(125))
    reply = front(many_minions).post(local("test.ping", tgt=words, tgt_type="compound"))
    assert reply.status == 200 and len(reply.ret[0]) == 125, reply
