# SPDX-License-Identifier: MIT
"""Jobs in a real etcd, in the layout of Salt's own returner: several responders, members that go, both ways with Salt."""

import json
import random
import re
import signal
import subprocess
import time

import pytest
from support import daemon as daemons
from support import salts
from support.api import CRED, JSON
from support.daemon import KILLS, LONG
from support.etcd import USER, Certificates
from support.jobs import Clients, call, kill_again_and_again, refused, runner
from support.process import PATIENCE, wait_until
from support.rest import api_of, login, serving, session

ALL_PONG = {"ms-0": True, "ms-1": True, "ms-2": True}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
ROUNDS = 3 if LONG else 1
ASYNC_PING = {**PING, "client": "local_async"}
BOTH_APIS = pytest.mark.parametrize("v2", [False, True], ids=["v3", "v2"])


def on(etcd, v2=False, **more):
    """The options with which jobs are kept there."""
    hosts = [f"127.0.0.1:{member.port}" for member in etcd.members]
    return {"master_job_cache": "etcd", "etcd.host": hosts, "etcd.require_v2": v2, "log_level": "info", **more}


def start_async(address):
    return call(address, ASYNC_PING)[0]["jid"]


def looked_up(address, jid):
    return runner(address, "jobs.lookup_jid", jid=jid)


def all_returned(address, jid):
    """False also while the job cache cannot be asked."""
    return call(address, {"client": "runner", "fun": "jobs.lookup_jid", "kwarg": {"jid": jid}}) == [ALL_PONG]


def listed(address):
    return runner(address, "jobs.list_jobs")


@BOTH_APIS
def test_a_job_started_through_one_responder_is_found_through_another(start, start_etcd, v2):
    etcd = start_etcd(v2=True)
    here, there = start(on(etcd, v2)), start(on(etcd, v2))
    jid = start_async(here.address)
    wait_until(lambda: all_returned(there.address, jid), "all returned")
    assert jid in listed(there.address)
    own = {**PING, "jid": "20200101000000000000"}
    assert call(here.address, own) == [ALL_PONG]
    assert call(there.address, own) is None  # taken
    assert here.stop() == there.stop() == 0


def test_an_etcd_without_api_v2_is_told_at_the_start_and_by_check_config(start, start_etcd, directory):
    etcd = start_etcd()
    options = on(etcd)
    del options["etcd.require_v2"]
    daemon = start(options)
    daemon.await_log("etcd.require_v2: false")
    checked = daemons.run("--config", daemon.config_path, "--check-config")
    assert checked.returncode == 0 and "it has no API v2" in checked.stdout and "say etcd.require_v2: false" in checked.stdout
    v3 = {**on(etcd), "eauth_tokens": "etcd"}
    for quiet in (v3, {**v3, "etcd.host": "127.0.0.1:1"}, {**options, "etcd.host": "127.0.0.1:1"}):  # the last two do not answer
        path = directory / "other_master"
        path.write_text(json.dumps(quiet))
        checked = daemons.run("--config", path, "--check-config")
        assert checked.returncode == 0 and "warning:  " not in checked.stdout, checked


def test_an_etcd_without_api_v3_is_told_at_the_start_and_by_check_config(start, start_etcd):
    etcd = start_etcd(arguments=["--enable-grpc-gateway=false"])
    jobs, tokens = on(etcd), {**on(etcd), "eauth_tokens": "etcd"}
    del tokens["master_job_cache"]
    for options, words in ((jobs, "etcd.require_v2: false, and "), (tokens, "eauth_tokens: etcd, and ")):
        daemon = start(options)
        daemon.await_log(words)
        checked = daemons.run("--config", daemon.config_path, "--check-config")
        assert checked.returncode == 0 and words in checked.stdout and "--enable-grpc-gateway" in checked.stdout, checked


def test_two_hosts_worth_of_processes_share_a_cluster_of_three(start, start_etcd):
    etcd = start_etcd(members=3)
    started = []
    daemons = [start(on(etcd)) for _ in range(4)]
    for daemon in daemons:
        started += [start_async(daemon.address) for _ in range(5)]
    assert len(set(started)) == len(started)
    for daemon in daemons:
        for jid in started:
            wait_until(lambda d=daemon, j=jid: all_returned(d.address, j), f"{jid} is found everywhere")


@pytest.mark.parametrize("name", ["ext_job_cache", "ret"])
def test_jobs_go_to_etcd_beside_the_job_cache(start, etcd, name):
    # Other parts of Salt use etcd, too: that it is there for `ret` is said by a key of the returner.
    more = {"ext_job_cache": "etcd"} if name == "ext_job_cache" else {"etcd.returner_root": "/salt/return"}
    daemon = start(on(etcd, master_job_cache="memory", **more))
    low = {**PING, **({"ret": "etcd"} if name == "ret" else {})}
    assert call(daemon.address, low) == [ALL_PONG]
    wait_until(lambda: len([key for key in etcd.all("/salt/return/jobs/") if key.endswith(b"/return")]) == 3, "they came")


def test_with_passwords_and_certificates(start, start_etcd):
    etcd = start_etcd(auth=True, tls=True, client_certs=True)
    pair = etcd.certificates.client
    options = on(
        etcd,
        **{"etcd.username": USER[0], "etcd.password": USER[1], "etcd.ca": str(etcd.certificates.ca)},
        **{"etcd.client_cert": str(pair), "etcd.client_key": str(Certificates.key(pair))},
    )
    daemon = start(options)
    jid = start_async(daemon.address)
    wait_until(lambda: all_returned(daemon.address, jid), "all returned")
    assert USER[1] not in daemon.log()


def test_a_login_on_one_host_is_good_on_all_until_a_logout_on_any(start, etcd):
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

    etcd.kill(0)
    assert there.request("GET", "/minions/ms-0", headers=token).status == 503
    assert there.request("POST", "/run", json.dumps([{**PING, **CRED}]), JSON).ret == [ALL_PONG]
    etcd.restart(0)
    wait_until(lambda: there.request("GET", "/minions/ms-0", headers=token).status == 200, "etcd is back")

    _, third = host()
    assert third.request("POST", "/logout", headers=token).status == 200
    assert there.request("GET", "/minions/ms-0", headers=token).status == 401
    assert not etcd.all("/salt/tokens/")


def test_a_profile_and_a_root_and_a_ttl(start, etcd):
    options = {
        "master_job_cache": "etcd",
        "etcd.returner": "my_etcd_config",
        "etcd.returner_root": "/elsewhere",
        "my_etcd_config": {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": False},
        "etcd.returner_write_profile": "short",
        "short": {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": False, "etcd.ttl": 10},
    }
    daemon = start(options)
    jid = start_async(daemon.address)
    wait_until(lambda: all_returned(daemon.address, jid), "all returned")
    assert any(key.startswith(b"/elsewhere/jobs/" + jid.encode()) for key in etcd.all("/"))
    wait_until(lambda: not etcd.all("/elsewhere/"), "all of it went when its time was over", 2 * PATIENCE)


class SaltReturner:
    """Salt's own returner, in its own Python."""

    def __init__(self, directory, options):
        self._directory, self._options = directory, options
        directory.mkdir()

    def run(self, *calls):
        program = salts.ETCD_RETURNER
        request = {"root_dir": str(self._directory), "opts": self._options, "calls": calls}
        argv = [salts.require(salts.SERIES[0]) / "bin/python", "-I", "-W", "ignore", program]
        done = subprocess.run(argv, input=json.dumps(request), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def returned(self, *calls):
        outcomes = self.run(*calls)
        assert all("ret" in outcome for outcome in outcomes), outcomes
        return [outcome["ret"] for outcome in outcomes]


@pytest.fixture
def salt_returner(directory):
    def make(etcd, v2):
        options = {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": v2}
        return SaltReturner(directory / "salt", options)

    return make


ODD = {"client": "local", "tgt": "ms-*", "fun": "test.arg", "arg": ["grün ☃ \U0001f984", 1.5, None, {"a": [2**40]}]}


@BOTH_APIS
def test_salts_own_returner_reads_what_we_wrote(start, start_etcd, salt_returner, v2):
    etcd = start_etcd(v2=True)
    daemon = start(on(etcd, v2))
    ours = call(daemon.address, ODD)[0]
    (jid,) = listed(daemon.address)
    assert daemon.stop() == 0
    load, rets, jids, functions, minions = salt_returner(etcd, v2).returned(
        ["get_load", jid], ["get_jid", jid], ["get_jids"], ["get_fun", "test.arg"], ["get_minions"]
    )
    assert rets == {minion: {"return": ret} for minion, ret in ours.items()}
    assert jids == [jid]
    assert functions == {minion: "test.arg" for minion in ours}
    assert sorted(minions) == sorted(ours)
    told = {key: load[key] for key in ("jid", "fun", "tgt", "tgt_type", "user", "arg")}
    asked = {"jid": jid, "fun": ODD["fun"], "tgt": ODD["tgt"], "tgt_type": "glob", "user": CRED["username"]}
    assert told == {**asked, "arg": ODD["arg"]}


@BOTH_APIS
def test_we_read_what_salts_own_returner_wrote(start, start_etcd, salt_returner, v2):
    etcd = start_etcd(v2=True)
    jid = "20261120231500123456"
    load = {"fun": "test.arg", "jid": jid, "tgt": "web*", "tgt_type": "glob", "arg": ["ü"], "user": "root", "cmd": "publish"}
    ret = {"jid": jid, "fun": "test.arg", "retcode": 0, "success": True, "cmd": "_return", "fun_args": ["ü"]}
    returns = {"web-1": {"ä": [1, 1.5, None]}, "web-2": "z\n"}
    salt_returner(etcd, v2).returned(
        ["save_load", jid, load],
        *(["returner", {**ret, "id": minion, "return": value}] for minion, value in returns.items()),
    )
    daemon = start(on(etcd, v2))
    assert looked_up(daemon.address, jid) == returns
    jobs = listed(daemon.address)
    assert list(jobs) == [jid]
    found = {key: jobs[jid][key] for key in ("Function", "Arguments", "Target", "Target-type", "User")}
    named = {"Function": "test.arg", "Arguments": ["ü"], "Target": "web*", "Target-type": "glob", "User": "root"}
    assert found == named


def number_of_jobs(address):
    """None while the job cache cannot be asked."""
    answer = call(address, {"client": "runner", "fun": "jobs.list_jobs"})
    return answer and len(answer[0])


def test_while_the_cluster_is_away_calls_are_answered_and_delivered_later(start, etcd):
    daemon = start(on(etcd))
    first = start_async(daemon.address)
    wait_until(lambda: all_returned(daemon.address, first), "all returned")
    etcd.kill(0)
    assert [call(daemon.address, PING) for _ in range(20)] == [[ALL_PONG]] * 20
    said = refused(daemon.address, {"client": "runner", "fun": "jobs.list_jobs"})
    assert said.startswith("The job cache etcd cannot be used now: "), said
    etcd.restart(0)
    wait_until(lambda: number_of_jobs(daemon.address) == 21, "what was kept meanwhile is delivered")
    assert daemon.stop() == 0


def test_what_a_killed_responder_had_not_delivered_the_next_one_delivers(start, etcd):
    daemon = start(on(etcd))
    start_async(daemon.address)
    etcd.kill(0)
    for _ in range(5):
        assert call(daemon.address, PING) == [ALL_PONG]
    daemon.kill(signal.SIGKILL)
    daemon.wait()
    etcd.restart(0)
    daemon_again = start(on(etcd, cachedir=str(daemon.directory / "cache")))
    wait_until(lambda: number_of_jobs(daemon_again.address) == 6, "all six are there")


def test_what_a_killed_process_had_not_delivered_another_process_of_the_store_delivers(start, directory, etcd):
    options = on(etcd, cachedir=str(directory / "cache"))
    first, second = start(options), start(options)
    jid = start_async(first.address)
    wait_until(lambda: all_returned(second.address, jid), "all returned")
    etcd.kill(0)
    for daemon in (first, second) * 5:
        assert call(daemon.address, PING) == [ALL_PONG]
    first.kill(signal.SIGKILL)  # which delivers for both, since it was there first
    first.wait()
    etcd.restart(0)
    wait_until(lambda: number_of_jobs(second.address) == 11, "all eleven are there")
    assert second.stop() == 0


def test_a_full_outbox_refuses_asynchronous_jobs_and_synchronous_calls_are_answered(start, etcd):
    daemon = start(on(etcd, rest_fcgi={"etcd_outbox_bytes": "64K"}))
    etcd.kill(0)
    large = {"client": "local", "tgt": "*", "fun": "test.arg", "arg": ["x" * 2000]}
    for _ in range(50):
        assert call(daemon.address, large)[0]["ms-0"]
    long = {**large, "client": "local_async", "arg": ["x" * 10000]}
    assert "etcd_outbox_bytes" in refused(daemon.address, long)
    assert daemon.log().count("asynchronous jobs are refused, and all else is lost") == 1
    etcd.restart(0)
    wait_until(lambda: number_of_jobs(daemon.address), "what waited is delivered")
    jid = call(daemon.address, long)[0]["jid"]
    wait_until(lambda: jid in listed(daemon.address), "it is kept again")
    assert daemon.stop() == 0


def found_in(etcd):
    """The jids of all loads that are in etcd, and the first arguments of their calls."""
    loads = {key: value for key, value in etcd.all("/salt/return/jobs/").items() if key.endswith(b"/.load.p")}
    jids = {key.split(b"/")[4].decode() for key in loads}
    words = {word.decode() for value in loads.values() for word in re.findall(rb"word-\d+-\d+", value)}
    return jids, words


def checked(clients, etcd, last, capsys, what):
    """All that was acknowledged is found."""

    def all_found():
        jids, words = found_in(etcd)
        return clients.jobs <= jids and clients.words <= words

    assert clients.jobs and clients.words
    # A lookup waits for the delivery; it fails while the cluster elects a leader.
    lookup = {"client": "runner", "fun": "jobs.lookup_jid", "kwarg": {"jid": min(clients.jobs)}}
    wait_until(lambda: call(last.address, lookup), "the cluster answers")
    try:
        wait_until(all_found, "all is in etcd")
    finally:
        jids, words = found_in(etcd)
        with capsys.disabled():
            print(
                f"\n  {what}: {len(clients.jobs)} asynchronous jobs acknowledged, {len(clients.jobs & jids)} found; "
                f"{len(clients.words)} synchronous jobs answered, {len(words & clients.words)} found"
            )
    for jid in random.Random(6).sample(sorted(clients.jobs), min(50, len(clients.jobs))):
        assert isinstance(looked_up(last.address, jid), dict)


def test_no_acknowledged_job_is_missing_after_many_kills_under_load(start, directory, etcd, capsys):
    changes = on(etcd, cachedir=str(directory / "cache"), log_level="warning")
    clients = Clients(2, pause=0.005)
    try:
        kill_again_and_again(lambda: start(changes), KILLS, clients)
    finally:
        clients.stop()
    checked(clients, etcd, start(changes), capsys, f"{KILLS} kills of the responder")


def test_no_acknowledged_job_is_missing_when_members_are_killed_under_load(start, start_etcd, capsys):
    etcd = start_etcd(members=3)
    daemon = start(on(etcd, log_level="warning"))
    clients = Clients(2, pause=0.01)
    clients.aim_at(daemon.address)
    try:
        for _ in range(ROUNDS):
            for number in (etcd.leader(), 0):
                etcd.kill(number)
                time.sleep(1)
                etcd.restart(number)
    finally:
        clients.stop()
    checked(clients, etcd, daemon, capsys, f"{2 * ROUNDS} kills of etcd's members")
