# SPDX-License-Identifier: MIT
"""Published holes and bugs of Salt's API and of FastCGI servers that have no other test."""

import contextlib
import itertools
import json
import re

import pytest

from support.api import CRED, JSON, chunk, local
from support.access_watch import AccessWatch
from support.daemon import ROOT, merge
from support.rest import api_of, serving

PING = [{"ms-0": True, "ms-1": True, "ms-2": True}]
INNER = ["__class__", "__init__", "loadauth", "_prep_auth_info", "run", "get_docs", "publish", "_send_pub", "x" * 900_000]


def test_cve_2020_11651_a_request_cannot_call_internal_functions_by_name(api):
    for name in INNER:
        refused = api.post({**CRED, "client": name, "fun": "test.ping", "tgt": "*"})
        assert refused.status == 400 and len(refused.text) < 1000
        for client in ("runner", "wheel"):
            assert api.post(chunk(client, name)).status in (400, 401)
            reply = api.post(chunk(client, f"jobs.{name}"))
            assert reply.status == 400 or "is not available" in reply.text, reply
        assert "Traceback" not in api.post(local(name)).text


@pytest.fixture
def bait(directory):
    folder = directory / "bait"
    folder.mkdir()
    for name in ("file", "file.p", "0" * 64):
        (folder / name).write_text("bait")
    with contextlib.closing(AccessWatch(folder)) as watch:
        yield folder, watch


def paths_to(folder):
    up = "../" * 30
    for name in (f"{folder}/file", f"{folder}/{'0' * 64}", f"{up}{folder}/file", f"file://{folder}/file"):
        yield name
        yield name + "\0"
        yield name.replace("/", "%2f")
        yield name.replace("../", "....//")
    yield f"{'../' * 3}bait/file"
    yield f"../../bait/{'0' * 64}"


KEYS = ["client", "fun", "tgt", "tgt_type", "expr_form", "jid", "ret", "username", "password", "eauth", "token"]
KEYS += ["metadata", "roster_file", "service", "filename"]


def test_cve_2018_15750_cve_2020_11652_cve_2021_25282_cve_2024_22231_no_value_of_a_request_opens_a_file(start, front, bait):
    folder, watch = bait
    changes = merge(serving(), {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"], "login_guard": {"tries": 0}}})
    daemon = start(changes)
    wsgi, rest = front(daemon), api_of(changes)
    token = rest.request("POST", "/login", json.dumps(CRED), JSON).headers["x-auth-token"]
    for path in paths_to(folder):
        for key in KEYS:
            wsgi.post({**local("test.ping"), key: path})
            wsgi.post({**chunk("runner", "jobs.lookup_jid", jid=path), key: path})
        wsgi.post({"token": path, "client": "local", "tgt": "*", "fun": "test.ping"})
        wsgi.post(chunk("wheel", "key.delete", match=path), chunk("runner", "cache.grains", tgt=path))
        rest.request("POST", "/login", json.dumps({**CRED, "username": path}), JSON)
        rest.request("POST", "/keys", json.dumps({**CRED, "mid": path}), JSON)
        clean = path.replace("\0", "%00")
        for url in ("/jobs/", "/minions/", "/keys/", "/ws/", "/static/", "/events/", "/app/"):
            rest.request("GET", url + clean, headers={"X-Auth-Token": token})
            rest.request("GET", url, headers={"X-Auth-Token": clean})
            rest.request("GET", url, headers={"Cookie": f"session_id={clean}"})
    assert watch.count() == 0
    (folder / "file").read_text()
    assert watch.count() > 0, "an access is counted"


def test_cve_2024_38825_an_unavailable_eauth_back_end_refuses_every_login(start, front):
    eauths = ("pki", "ldap", "nosuch")
    api = front(start({"external_auth": {eauth: {"saltdev": [".*"]} for eauth in eauths}, "rest_fcgi": {"login_guard": {"tries": 0}}}))
    for eauth, proof in itertools.product(eauths, ("", "x", "-----BEGIN CERTIFICATE-----", None)):
        reply = api.post({**local("test.ping"), "eauth": eauth, "password": proof})
        assert reply.status in (400, 401) and "ms-0" not in reply.text, reply
    assert api.run(local("test.ping")) == PING


def test_the_samples_log_no_bodies_and_credentials():
    for path in [*ROOT.glob("nginx/rest_fcgi*"), *ROOT.glob("apache/rest_fcgi*")]:
        text = path.read_text().lower()
        assert not any(word in text for word in ("$request_body", "dumpio", "authorization}", "x-auth-token}", "{cookie}")), path


def test_check_config_uses_the_timeout_of_the_samples():
    texts = "".join(path.read_text() for path in ROOT.glob("[na]*/rest_fcgi*"))
    waits = set(re.findall(r"(?:_read_timeout | timeout=|FcgidIOTimeout )(\d+)", texts)) - {"90"}
    assert waits == set(re.findall(r"kWebServersWait\{(\d+)\}", (ROOT / "src/config/report.cc").read_text())) and len(waits) == 1


def test_cve_2025_62349_salt_md_names_the_tested_and_the_oldest_safe_releases():
    page = (ROOT / "deploy/salt.md").read_text()
    (oldest,) = re.findall(r"none older than (3006\.\d+), (3007\.\d+) or (3008\.\d+)\.", page)
    (tested,) = re.findall(r"\(tested: (3006\.\d+), (3007\.\d+) and (3008\.\d+)\)", page)
    recorded = sorted(json.loads(path.read_text())["salt"] for path in (ROOT / "test/vectors").glob("salt-*.json"))
    for newest, release, least in zip(tested, recorded, oldest, strict=True):
        series, patches = zip(*(one.split(".") for one in (newest, release, least)), strict=True)
        assert len(set(series)) == 1 and int(patches[0]) >= int(patches[1]) >= int(patches[2])
