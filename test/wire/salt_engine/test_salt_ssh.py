# SPDX-License-Identifier: MIT
"""The client `ssh`, compared with Salt's own client on a real host.

Tests with hosts need sshd (Debian's openssh-server). Other tests use a fake salt-ssh, which runs a shell script."""

import contextlib
import json
import pathlib
import threading

import pytest
from comparison import neutral
from support import fastcgi, salts
from support.api import CRED
from support.daemon import CLIENTS, merge
from support.netapi import Netapi
from support.process import join, wait_until
from support.salt_master import family
from support.sshd import Sshd
from test_salt_sessions import send

EVERY_SERIES = pytest.mark.parametrize("salt", salts.SERIES, indirect=True)
FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)

RULES = {"star": [{"*": ["test.*"]}], "some": [{"web*": ["test.*"]}], "plain": ["test.*"]}
WITH_SSH = {
    "netapi_enable_clients": [*CLIENTS, "ssh"],
    "external_auth": {"sharedsecret": RULES},
    "rest_cherrypy": None,
    "rest_tornado": None,
    "rest_fcgi": {
        "netapi": ["rest_wsgi", "rest_cherrypy", "rest_tornado"],
        "mount": {"/": "rest_wsgi", "/c": "rest_cherrypy", "/t": "rest_tornado"},
    },
}


def ssh(tgt, fun, *arg, cred=CRED, **more):
    return {**cred, "client": "ssh", "tgt": tgt, "fun": fun, "arg": list(arg), **more}


def user(name):
    return {"eauth": "sharedsecret", "username": name, "password": "s3cret-of-the-master"}


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


class Hosts:
    def __init__(self, salt, engine, sshd, rosters):
        self.engine, folder = engine, engine.directory
        web1, web2 = ({**sshd.host(), "thin_dir": str(salt.home / f"thin{at}")} for at in (1, 2))
        denied = sshd.host(priv=str(sshd.folder / "stranger"))
        roster = {"web1": web1, "web2": web2, "away": sshd.host(port=1), "denied": denied}
        (folder / "roster").write_text(json.dumps(roster))
        (rosters / "other").write_text(json.dumps({"web9": web1}))
        self.netapi = Netapi(salt.folder, engine.config_path, folder / "netapi.log", size=1)

    def both(self, low):
        ours = self.engine.run(low)[0]
        answer = self.netapi(low)
        assert "return" in answer, answer
        return comparable(ours), comparable(answer["return"])


def comparable(value):
    """Removes `__pub_pid`, and `stderr`, which has warnings of Python."""
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items() if key not in ("__pub_pid", "stderr")}
    return neutral(value)


@pytest.fixture
def start_ssh(salt, start_engine, tmp_path):
    def starter(salt_ssh, changes=None):
        (tmp_path / "rosters").mkdir(exist_ok=True)
        own = {"rosters": [str(tmp_path / "rosters")], "rest_fcgi": {"salt_ssh": {"program": str(salt_ssh)}}}
        return start_engine(merge(merge(WITH_SSH, own), changes or {}))

    return starter


@pytest.fixture
def stand_in(start_ssh, tmp_path):
    """Starts rest_fcgi with a salt-ssh that runs a shell script. The file `request` has the input of the script."""

    def starter(does, **changes):
        python = program(tmp_path / "python3", f"#!/bin/sh\ncat > {tmp_path}/request\n{does}\n")
        return start_ssh(program(tmp_path / "salt-ssh", f"#!{python}\n"), changes)

    return starter


@pytest.fixture
def hosts(salt, start_ssh, tmp_path):
    sshd = Sshd(tmp_path / "sshd")
    with contextlib.ExitStack() as stack:
        stack.callback(sshd.stop)
        script = program(tmp_path / "salt-ssh", f"#!{salt.folder}/bin/python3\n")
        engine = start_ssh(script)
        made = Hosts(salt, engine, sshd, tmp_path / "rosters")
        stack.callback(made.netapi.stop)
        yield made


@EVERY_SERIES
def test_ssh_returns_equal_those_of_salts_client(hosts):
    alike = [
        ssh("web1", "test.ping"),
        ssh("web*", "test.echo", "a b; $(touch /x) 'q' \"q\""),
        ssh(["web1", "nobody"], "test.ping", tgt_type="list"),
        ssh("*", "test.ping"),  # one host is unreachable, and one host refuses the key
        ssh("web1", "test.arg", "-x", "--out=raw", "-H", "--", "k=1", kwarg={"n": [1, 2], "t": True}),
        ssh("web1", "grains.get", "id"),  # Salt asks the host only for grains
        ssh("web1", "no.such"),
        ssh("web9", "test.ping", roster_file="other", timeout=20),
    ]
    found = []
    for low in alike:
        ours, theirs = hosts.both(low)
        assert ours == theirs, low
        found.append(ours)
    assert found[0]["web1"]["return"] is True and found[0]["web1"]["retcode"] == 0
    assert found[4]["web1"]["return"]["args"] == ["-x", "--out=raw", "-H", "--"]


@FIRST_SERIES
def test_ssh_keeps_argument_types_and_ignores_hosts_outside_the_roster(hosts):
    args = ["a", 1, True, None, [1, "x"]]
    (ours,) = hosts.engine.run(ssh("web1", "test.arg", *args))
    assert ours["web1"]["return"]["args"] == args  # Salt's own client returns a traceback
    for name in ("localhost", "root@127.0.0.1", "127.0.0.1"):  # Salt would log in to these hosts
        assert hosts.engine.run(ssh(name, "test.ping")) == [{}]
    reply = hosts.engine.post(ssh("web9", "test.ping", roster_file="nosuch"))
    assert reply.status == 400 and "'roster_file': found 'nosuch'" in reply.json["return"], reply


@FIRST_SERIES
def test_cve_2022_22941_a_rule_for_some_minions_permits_no_ssh(stand_in, tmp_path):
    engine = stand_in("echo '{\"return\": {}}'")
    for name in ("star", "some"):
        for target in ("web1", "*", "nosuch"):
            assert engine.post(ssh(target, "test.ping", cred=user(name))).status == 401
    assert not (tmp_path / "request").exists()


def payloads(mark):
    """Returns a map from CVE to payloads of Salt's tests and similar payloads.
    Source: tests/pytests/integration/netapi/test_ssh_client.py in Salt."""
    do = f"touch {mark}"
    return {
        "CVE-2017-5200": [{"fun": f"test.ping; {do}"}, {"raw_shell": True, "fun": do}, {"fun": "--raw-shell"}],
        "CVE-2019-17361": [{"ssh_priv": f"aaa; {do} #"}, {"ssh_user": f"$({do})"}],
        "CVE-2020-16846": [
            {"ssh_priv": f"aaa|id>{mark} #"},
            {"ssh_port": f"1 |id>{mark} #"},
            {"ssh_options": [f"|id>{mark} #", "lol"]},
            {"ssh_remote_port_forwards": f"hacked; {do}"},
            {"ssh_sudo_user": f"root; {do}"},
        ],
        "CVE-2021-3148": [{"thin_extra_mods": f"';{do};'"}, {"min_extra_mods": f"';{do};'"}, {"extra_filerefs": f"';{do};'"}],
        "CVE-2021-3197": [
            {"ssh_options": [f'ProxyCommand="{do}"']},
            {"ssh_port": f'1 -o ProxyCommand="{do}"'},
            {"ssh_identities_only": f"-oProxyCommand={do}"},
        ],
        "CVE-2020-28243": [{"ssh_pre_flight": do}, {"ssh_pre_hook": do}, {"ssh_run_pre_flight": True}],
        "CVE-2021-31607": [{"ssh_log_file": str(mark)}, {"saltfile": str(mark)}],
        "CVE-2025-22237": [{"ssh_update_roster": True}, {"ssh_key_deploy": True}, {"ssh_askpass": True}],
        "rosters": [
            {"roster_file": "/etc/passwd"},
            {"roster_file": "../master"},
            {"roster": "scan"},
            {"roster": f"/{mark}"},
            {"rosters": ["/tmp"]},
        ],
    }


@FIRST_SERIES
@pytest.mark.parametrize("cve", list(payloads("")))
def test_ssh_payloads_of_published_cves_run_nothing(stand_in, tmp_path, cve):
    engine = stand_in("echo '{\"return\": {}}'")
    mark = tmp_path / "pwned"
    for more in payloads(mark)[cve]:
        reply = engine.post(ssh("*", "test.ping"), {**ssh("*", "test.ping"), **more})
        assert reply.status == 400 and "chunk 1" in reply.json["return"], reply
        for path in ("/c/run", "/t/run"):
            assert send(engine, path, [{**ssh("*", "test.ping"), **more}])[0] in (400, 401)
    assert not mark.exists()
    assert not (tmp_path / "request").exists()  # a refused list of chunks runs no chunk


@FIRST_SERIES
def test_a_payload_in_a_target_or_argument_stays_text(hosts, tmp_path):
    mark = tmp_path / "pwned"
    for target in (f"root|id>{mark} #@127.0.0.1", f"-oProxyCommand=touch {mark}", f"$(touch {mark})", "--roster-file=/etc/passwd"):
        assert hosts.engine.run(ssh(target, "test.ping")) == [{}]
    for text in (f"$(touch {mark})", f"`touch {mark}`", f"x'; touch {mark}; '", f"\n; touch {mark}\n", '"""\nimport os', "-H", "--hosts"):
        (ours,) = hosts.engine.run(ssh("web1", "test.echo", text))
        assert ours["web1"]["return"].strip() == text.strip(), ours
    assert not mark.exists()


def arguments_below(pid):
    """Yields the command lines of a process and its descendants."""
    for one in family(pid):
        with contextlib.suppress(OSError):
            yield pathlib.Path(f"/proc/{one}/cmdline").read_bytes()


@FIRST_SERIES
def test_ssh_shows_no_secret_in_arguments_log_and_audit(stand_in, tmp_path):
    does = f"touch {tmp_path}/runs; until [ -e {tmp_path}/seen ]; do sleep 0.1; done; env > {tmp_path}/environment"
    engine = stand_in(f"{does}; echo garbage c4n4ry; exit 3", log_level="debug")
    data = fastcgi.request(json.dumps([ssh("*", "test.echo", "c4n4ry-arg", cred=user("plain"))]).encode())
    answers = []
    asking = threading.Thread(target=lambda: answers.append(fastcgi.talk(engine.address, data, 60)))
    asking.start()
    wait_until((tmp_path / "runs").exists, "it runs")
    seen = list(arguments_below(engine.pid))
    (tmp_path / "seen").touch()
    join([asking])
    assert any(b"salt_ssh_client.py" in one for one in seen)
    assert not [one for one in seen if b"c4n4ry" in one or b"s3cret-of" in one]
    assert json.loads((tmp_path / "request").read_text())["arg"] == ["c4n4ry-arg"]
    assert "s3cret-of" not in (tmp_path / "request").read_text() + (tmp_path / "environment").read_text()
    assert answers[0].status == 500 and "c4n4ry" not in answers[0].body
    assert "c4n4ry" not in engine.log() and "s3cret-of" not in engine.log()
    assert 'client=ssh fun=test.echo tgt="*"' in engine.log().replace("tgt=*", 'tgt="*"')


@FIRST_SERIES
def test_the_masters_own_roster_needs_no_rosters_and_an_unknown_node_group_is_named(salt, start_ssh, tmp_path):
    (tmp_path / "own").write_text(json.dumps({"away": {"host": "127.0.0.1", "port": 1, "user": "x", "priv": "agent-forwarding"}}))
    script = program(tmp_path / "salt-ssh", f"#!{salt.folder}/bin/python3\n")
    engine = start_ssh(script, {"rosters": None, "roster_file": str(tmp_path / "own")})
    assert list(engine.run(ssh("*", "test.ping"))[0]) == ["away"]
    refused = [
        engine.post(ssh("nosuch", "test.ping", tgt_type="nodegroup")),
        engine.post(ssh("*", "test.ping", roster_file="other")),
    ]
    assert [reply.status for reply in refused] == [400, 400]
    assert "ssh_list_nodegroups" in refused[0].ret and "'rosters'" in refused[1].ret
    assert not any(str(tmp_path) in reply.text or str(salt.home) in reply.text for reply in refused)
