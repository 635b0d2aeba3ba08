# SPDX-License-Identifier: MIT
"""Jobs in a real etcd that several rest_fcgi processes and Salt share."""

import collections
import json
import signal
import subprocess
import time

import pytest
from support import daemon as daemons
from support import salts
from support.api import CRED, JSON
from support.etcd import USER, Certificates
from support.jobs import call, runner
from support.process import wait_until
from support.rest import api_of, login, serving, session
from support.streams import Sse, hook, until

ALL_PONG = {"ms-0": True, "ms-1": True, "ms-2": True}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
BOTH_APIS = pytest.mark.parametrize("v2", [False, True], ids=["v3", "v2"])


def on(etcd, v2=False, **more):
    """Returns settings that keep jobs in etcd."""
    return {"master_job_cache": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}", "etcd.require_v2": v2, "log_level": "info", **more}


def listed(address):
    return runner(address, "jobs.list_jobs")


def test_responders_share_jobs_in_an_etcd_with_passwords_and_certificates(start, start_etcd):
    etcd = start_etcd(auth=True, tls=True)
    pair = etcd.certificates.client
    options = on(
        etcd,
        **{"etcd.username": USER[0], "etcd.password": USER[1], "etcd.ca": str(etcd.certificates.ca)},
        **{"etcd.client_cert": str(pair), "etcd.client_key": str(Certificates.key(pair))},
    )
    here, there = start(options), start(options)
    jid = call(here.address, {**PING, "client": "local_async"})[0]["jid"]
    wait_until(lambda: runner(there.address, "jobs.lookup_jid", jid=jid) == ALL_PONG, "all returned")
    assert jid in listed(there.address)
    assert USER[1] not in here.log() + there.log()


def test_the_start_and_check_config_warn_of_an_etcd_without_api_v2(start, start_etcd):
    options = on(start_etcd())
    del options["etcd.require_v2"]
    daemon = start(options)
    daemon.await_log("etcd.require_v2: false")
    checked = daemons.run("--config", daemon.config_path, "--check-config")
    assert checked.returncode == 0 and "API v2 is missing" in checked.stdout and "etcd.require_v2: false" in checked.stdout


def test_hosts_share_logins_and_logouts_through_etcd(start, etcd):
    keys = {"eauth_tokens": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}"}

    def host():
        served = serving()
        return start({**keys, **served}), api_of(served)

    (first, here), (_, there) = host(), host()
    token = session(login(here))
    assert there.request("GET", "/minions/ms-0", headers=token).status == 200
    assert first.stop() == 0
    assert there.request("GET", "/minions/ms-0", headers=token).status == 200
    (stored,) = etcd.all("/salt/tokens/").items()
    assert token["X-Auth-Token"].encode() not in b"".join(stored)

    etcd.kill()
    assert there.request("GET", "/minions/ms-0", headers=token).status == 503
    assert there.request("POST", "/run", json.dumps([{**PING, **CRED}]), JSON).ret == [ALL_PONG]
    etcd.restart()
    wait_until(lambda: there.request("GET", "/minions/ms-0", headers=token).status == 200, "etcd is back")

    _, third = host()
    assert third.request("POST", "/logout", headers=token).status == 200
    assert there.request("GET", "/minions/ms-0", headers=token).status == 401
    assert not etcd.all("/salt/tokens/")


def test_an_etcd_that_refuses_requests_is_unavailable(start, start_etcd):
    etcd = start_etcd()
    served = serving()
    start({"eauth_tokens": "etcd", "etcd.host": f"127.0.0.1:{etcd.port}", **served})
    api = api_of(served)
    token = session(login(api))
    etcd.turn_on_passwords()
    assert api.request("GET", "/minions/ms-0", headers=token).status == 503
    assert api.request("POST", "/login", json.dumps(CRED), JSON).status == 503
    assert api.request("GET", "/minions/ms-0", headers={"X-Auth-Token": "a" * 64}).status == 503


def test_ready_fails_while_etcd_is_full(start, start_etcd):
    etcd = start_etcd()
    served = daemons.merge(serving(), {"rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"], "health": True}})
    daemon = start({"eauth_tokens": "etcd", **on(etcd), **served})
    api = api_of(served)

    def status():
        return api.request("GET", "/ready").status

    wait_until(lambda: status() == 200, "etcd can be written")
    etcd.set_full(True)
    wait_until(lambda: status() == 503, "etcd is full")
    assert api.request("POST", "/login", json.dumps(CRED), JSON).status == 503
    call(daemon.address, PING)
    daemon.await_log("cannot write to etcd")
    etcd.set_full(False)
    wait_until(lambda: status() == 200, "etcd can be written again")
    daemon.await_log("writing to etcd works again")
    assert daemon.log().count("cannot write to etcd") == 1


def test_an_interrupted_job_is_recorded_when_etcd_is_back(start, start_etcd, directory):
    etcd = start_etcd()
    options = on(etcd, cachedir=str(directory / "shared"))
    daemon = start(options)
    jid = call(daemon.address, {"client": "local_async", "tgt": "ms-0", "fun": "test.sleep", "arg": [600]})[0]["jid"]
    wait_until(lambda: jid in listed(daemon.address), "the job is in etcd")
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    etcd.kill()
    daemon = start(options)
    etcd.restart()
    wait_until(lambda: runner(daemon.address, "jobs.lookup_jid", jid=jid), "the job has a return")
    assert "interrupted" in runner(daemon.address, "jobs.lookup_jid", jid=jid)["ms-0"]


def returner_of_salt(directory, options, *calls):
    """Calls functions of Salt's own etcd returner. Returns their returns."""
    directory.mkdir()
    request = json.dumps({"root_dir": str(directory), "opts": options, "calls": calls})
    argv = [salts.require(salts.FIRST) / "bin/python", "-I", "-W", "ignore", salts.ETCD_RETURNER]
    done = subprocess.run(argv, input=request, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert all("ret" in outcome for outcome in outcomes), outcomes
    return [outcome["ret"] for outcome in outcomes]


ODD = {"client": "local", "tgt": "ms-*", "fun": "test.arg", "arg": ["grün ☃ \U0001f984", 1.5, None, {"a": [2**40]}]}


@BOTH_APIS
def test_our_job_cache_and_the_returner_of_salt_read_jobs_of_each_other(start, start_etcd, directory, v2):
    etcd = start_etcd(v2=True)
    daemon = start(on(etcd, v2))
    ours = call(daemon.address, ODD)[0]
    (jid,) = listed(daemon.address)
    theirs = "20261120231500123456"
    load = {"fun": "test.arg", "jid": theirs, "tgt": "web*", "tgt_type": "glob", "arg": ["ü"], "user": "root", "cmd": "publish"}
    ret = {"jid": theirs, "fun": "test.arg", "retcode": 0, "success": True, "cmd": "_return", "fun_args": ["ü"]}
    returns = {"web-1": {"ä": [1, 1.5, None]}, "web-2": "z\n"}
    found, rets, jids, functions, minions, *_ = returner_of_salt(
        directory / "salt", {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": v2},
        ["get_load", jid], ["get_jid", jid], ["get_jids"], ["get_fun", "test.arg"], ["get_minions"],
        ["save_load", theirs, load],
        *(["returner", {**ret, "id": minion, "return": value}] for minion, value in returns.items()),
    )  # fmt: skip
    assert rets == {minion: {"return": value} for minion, value in ours.items()}
    assert jids == [jid]
    assert functions == {minion: "test.arg" for minion in ours}
    assert sorted(minions) == sorted(ours)
    told = {key: found[key] for key in ("jid", "fun", "tgt", "tgt_type", "user", "arg")}
    asked = {"jid": jid, "fun": ODD["fun"], "tgt": ODD["tgt"], "tgt_type": "glob", "user": CRED["username"]}
    assert told == {**asked, "arg": ODD["arg"]}

    assert runner(daemon.address, "jobs.lookup_jid", jid=theirs) == returns
    job = listed(daemon.address)[theirs]
    named = {"Function": "test.arg", "Arguments": ["ü"], "Target": "web*", "Target-type": "glob", "User": "root"}
    assert {key: job[key] for key in named} == named


def test_a_stream_shows_jobs_hooks_and_runners_of_all_hosts_once(start, etcd):
    def host():
        served = serving()
        start({**on(etcd), **served})
        return api_of(served), login(api_of(served))

    (one, token), (other, others) = host(), host()
    streams = [Sse(one, token), Sse(other, others)]
    time.sleep(1.2)  # a host notices a listener within a second
    low = [{**PING, "client": "local_async"}, {"client": "runner", "fun": "test.arg"}]
    started, _ = one.request("POST", "/", json.dumps(low), {**JSON, **session(token)}).ret
    hook(one, token, "/hook/built", n=1)
    job = f"salt/job/{started['jid']}"
    wanted = {"salt/netapi/hook/built", f"{job}/new", *(f"{job}/ret/{minion}" for minion in ALL_PONG)}
    for stream in streams:
        seen = collections.Counter()

        def is_last(event, seen=seen):
            seen[event["tag"]] += 1
            return wanted <= seen.keys() and any(tag.startswith("salt/run/") and tag.endswith("/ret") for tag in seen)

        until(stream, is_last)
        assert {seen[tag] for tag in wanted} == {1}, seen


def test_events_of_other_hosts_come_again_after_etcd_was_restored_from_a_backup(start, start_etcd):
    etcd = start_etcd()

    def host():
        served = serving()
        return start({**on(etcd), **served}), api_of(served), login(api_of(served))

    (here, api, token), (_, other, others) = host(), host()

    streams = []  # a host watches etcd while it has an open stream

    def hears(tag):
        streams.append(Sse(api, token))
        time.sleep(1.2)  # a host notices a listener within a second
        hook(other, others, f"/hook/{tag}", n=1)
        until(streams[-1], lambda event: event["tag"].endswith(tag))

    hears("before")
    for number in range(100):
        etcd.put("/salt/return/other", str(number))
    etcd.restore()
    here.await_log("restored from a backup")
    hears("after")
    assert here.log().count("restored from a backup") == 1
