# SPDX-License-Identifier: MIT
"""A real Chromium sends the calls of SaltGUI's pages to the embedded engine. SaltGUI itself is not installed."""

import json
import re

import pytest
from support.daemon import MINIONS
from support.rest import api_of, serving
from test_stream_clients import LOGIN, run

SALTGUI = """<!DOCTYPE html><title>GUI</title><link rel="icon" href="data:,"><body></body>"""
ON_ALL = {"tgt_type": "glob", "tgt": "*"}
ON_ONE = {"tgt_type": "list", "tgt": "ms-1"}
NO_YAML = {"kwarg": {"return_yaml": False}}
CALLS = {
    "grains": {"client": "local", "fun": "grains.items", **ON_ALL},
    "grains of one": {"client": "local", "fun": "grains.items", **ON_ONE},
    "pillars": {"client": "local", "fun": "pillar.obfuscate", **ON_ALL},
    "pillar of one": {"client": "local", "fun": "pillar.items", **ON_ONE},
    "schedules": {"client": "local", "fun": "schedule.list", **NO_YAML, **ON_ALL},
    "beacons": {"client": "local", "fun": "beacons.list", **NO_YAML, **ON_ALL},
    "beacons that there are": {"client": "local", "fun": "beacons.list_available", **NO_YAML, **ON_ONE},
    "mine": {"client": "local", "fun": "mine.valid", **ON_ALL},
    "mine of one": {"client": "local", "fun": "mine.valid", **ON_ONE},
    "providers": {"client": "local", "fun": "test.providers", **ON_ALL},
    "nodegroup": {"client": "local", "full_return": True, "fun": "test.version", "tgt": "N@web", "tgt_type": "compound"},
    "cached grains": {"client": "runner", "fun": "cache.grains", "tgt": "*"},
    "cached pillar": {"client": "runner", "fun": "cache.pillar", "tgt": "*"},
    "active jobs": {"client": "runner", "fun": "jobs.active"},
    "jobs": {"client": "runner", "fun": "jobs.list_jobs"},
    "highstates": {"client": "runner", "fun": "jobs.list_jobs", "search_function": ["state.apply", "state.highstate"]},
    "versions": {"client": "runner", "fun": "manage.versions"},
    "orchestrations": {"client": "runner", "fun": "state.orchestrate_show_sls", "arg": ["*"]},
    "options": {"client": "wheel", "fun": "config.values"},
    "fingerprints": {"client": "wheel", "fun": "key.finger", "match": "*"},
    "reject a key": {"client": "wheel", "fun": "key.reject", "match": "ms-1", "include_accepted": True},
    "accept keys": {"client": "wheel", "fun": "key.accept", "match": "ms-1", "include_rejected": True},
    "delete a key": {"client": "wheel", "fun": "key.delete", "match": "ms-1"},
    "keys": {"client": "wheel", "fun": "key.list_all"},
    "connected": {"client": "wheel", "fun": "minions.connected"},
}
ASKS = LOGIN + """
const { token } = await login(), replies = {};
for (const [name, low] of Object.entries(%s)) replies[name] = (await (await post("/", low, token)).json()).return[0];
const stats = await fetch("/stats", { headers: { "Accept": "application/json", "X-Auth-Token": token } });
return { ...replies, stats: stats.status };
"""
# SaltGUI counts only returns of jobs whose jid it already knows.
STARTS_A_JOB = LOGIN + """
const session = await login(), source = new EventSource("/events"), early = [], returned = new Set();
let jid = null;
const green = new Promise((resolve) => {
  source.onmessage = (message) => {
    const { tag, data } = JSON.parse(message.data);
    if (!tag.startsWith("salt/job/") || data.fun !== "test.ping") return;
    if (jid === null && tag.includes("/ret/")) early.push(tag);
    if (tag.startsWith(`salt/job/${jid}/ret/`) && data.success === true) returned.add(data.id);
    if (returned.size === 3) resolve([early, data._stamp]);
  };
});
await new Promise((resolve) => { source.onopen = resolve; });
const low = { client: "local_async", tgt: "*", fun: "test.ping" };
jid = (await (await post("/", low, session.token)).json()).return[0].jid;
return await green;
"""


@pytest.fixture
def page(start, browser, directory):
    (directory / "index.html").write_text(SALTGUI)
    changes = serving(app=str(directory / "index.html"))
    start({**changes, "nodegroups": {"web": "ms-0 or ms-1"}, "saltgui_templates": {"ping": {"command": "test.ping"}}})
    browser.open(f"{api_of(changes).url}/app")
    return browser


def test_each_page_of_saltgui_gets_its_data_and_finds_no_issues(page):
    replies = run(page, ASKS % json.dumps(CALLS))
    assert replies["stats"] == 200
    on_all = ("grains", "pillars", "schedules", "beacons", "mine", "providers", "cached grains", "cached pillar")
    for name in on_all:
        assert sorted(replies[name]) == MINIONS, name
        assert all(isinstance(value, dict) for value in replies[name].values()), name
    for name in ("grains of one", "pillar of one", "beacons that there are", "mine of one"):
        assert isinstance(replies[name]["ms-1"], dict), name
    assert {name: len(replies[name]["ms-1"]) for name in ("schedules", "beacons", "mine")} == {"schedules": 0, "beacons": 0, "mine": 0}
    assert sorted(replies["nodegroup"]) == ["ms-0", "ms-1"] and replies["nodegroup"]["ms-0"]["retcode"] == 0
    assert all(isinstance(states, dict) for states in replies["orchestrations"].values())
    options = replies["options"]["data"]["return"]
    assert options["nodegroups"] == {"web": ["ms-0", "or", "ms-1"]} and options["saltgui_templates"] == {"ping": {"command": "test.ping"}}
    for name in ("reject a key", "accept keys", "delete a key"):
        assert replies[name]["data"]["success"] is True and replies[name]["data"]["return"] == {"minions": ["ms-1"]}, name
    fingers = replies["fingerprints"]["data"]["return"]["minions"]
    assert sorted(fingers) == MINIONS and all(re.fullmatch(r"([0-9a-f]{2}:){31}[0-9a-f]{2}", one) for one in fingers.values())
    check_that_there_are_no_issues(replies)


def check_that_there_are_no_issues(replies):
    """SaltGUI's issues page lists problems such as outdated minions and failed states."""
    versions = replies["versions"]
    assert sorted(versions) == ["Master", "Up to date"] and set(versions["Up to date"].values()) == {versions["Master"]}
    series, patch = map(int, versions["Master"].split("."))
    assert series == 3006 and patch >= 23, "the newest of that series that SaltGUI has a list for, or a newer one"
    grains = replies["grains"]["ms-1"]
    assert grains["saltversion"] == versions["Master"] and grains["saltversioninfo"] == [series, patch]
    assert replies["nodegroup"]["ms-0"]["ret"] == versions["Master"]
    assert replies["keys"]["data"]["return"]["minions_pre"] == [] and replies["highstates"] == {} and replies["active jobs"] == {}
    assert replies["connected"]["data"]["return"] == replies["keys"]["data"]["return"]["minions"] == MINIONS
    assert replies["options"]["data"]["return"]["saltgui_full_return"] is True


def test_saltgui_sees_an_asynchronous_job_complete(page):
    for _ in range(5):
        early, stamp = run(page, STARTS_A_JOB)
        assert early == [] and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", stamp)
