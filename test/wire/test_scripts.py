# SPDX-License-Identifier: MIT
"""Script modules: executable files are functions of the running program."""

import json
import signal

import pytest

from support.api import chunk, local
from support.daemon import master_config, run
from support.process import wait_until

TGT = "ms-0"


def write(folder, name, text, mode=0o755):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)


@pytest.fixture
def modules(directory):
    folder = directory / "modules"
    folder.mkdir(mode=0o755)
    return folder


def with_modules(folder, **more):
    minions = {"ms-0": {"grains": {"role": "web"}, "pillar": {"port": 8080}}}
    return {"rest_fcgi": {"embedded": {"module_dirs": [str(folder)], "minions": minions, **more}}}


def call(api, fun, *arg, **kwarg):
    return api.run(local(fun, tgt=TGT, arg=list(arg), kwarg=kwarg))[0][TGT]


def test_a_script_is_a_function_that_gets_and_gives_json(start, front, modules):
    write(modules, "shop.echo", "# Give back what was sent.\ncat")
    api = front(start(with_modules(modules)))
    ret = call(api, "shop.echo", "grün", 1, "more=[a]", name=None)
    assert ret["id"] == "ms-0" and ret["fun"] == "shop.echo" and len(ret["jid"]) == 20
    assert ret["arg"] == ["grün", 1] and ret["kwarg"] == {"more": ["a"], "name": None}
    assert ret["grains"]["role"] == "web" and ret["pillar"] == {"port": 8080}
    assert call(api, "sys.doc", "shop.echo") == {"shop.echo": "Give back what was sent."}
    assert call(api, "sys.list_functions", "shop") == ["shop.echo"]


def test_a_script_in_python_works(start, front, modules):
    write(modules, "shop.sum", "")
    (modules / "shop.sum").write_text(
        "#!/usr/bin/python3\nimport json, sys\ncall = json.load(sys.stdin)\njson.dump(sum(call['arg']), sys.stdout)\n"
    )
    assert call(front(start(with_modules(modules))), "shop.sum", 1, 2, 3.5) == 6.5


def test_a_script_that_fails_says_why_and_gives_its_status(start, front, modules):
    write(modules, "shop.fail", "echo 'no such shop' >&2; exit 4")
    api = front(start(with_modules(modules)))
    (ret,) = api.run(local("shop.fail", tgt=TGT, full_return=True))
    assert ret[TGT]["ret"] == "The script shop.fail ended with exit status 4: no such shop"
    assert ret[TGT]["retcode"] == 4


def test_a_script_that_takes_too_long_is_ended(start, front, modules):
    write(modules, "shop.slow", "sleep 1000")
    api = front(start(with_modules(modules, script_timeout=0.5)))
    assert call(api, "shop.slow") == "The script shop.slow took longer than 0.5 seconds and was ended."


def test_standard_error_of_a_good_script_is_in_the_log(start, front, modules):
    write(modules, "shop.chatty", "echo careful >&2; echo true")
    daemon = start(with_modules(modules))
    assert call(front(daemon), "shop.chatty") is True
    daemon.await_log("shop.chatty wrote to standard error: careful")


def test_scripts_run_asynchronously_and_on_all_minions(start, front, modules):
    write(modules, "shop.one", "echo 1")
    api = front(start(with_modules(modules)))
    assert api.run(local("shop.one"))[0] == {"ms-0": 1, "ms-1": 1, "ms-2": 1}
    assert "jid" in api.run({**local("shop.one"), "client": "local_async"})[0]


def test_a_script_needs_permission_as_any_function(start, front, modules):
    write(modules, "shop.one", "echo 1")
    write(modules, "shop.two", "echo 2")
    changes = {**with_modules(modules), "external_auth": {"file": {"bob": ["shop.one"]}}}
    api = front(start(changes))
    assert api.post({**local("shop.one", tgt=TGT), "username": "bob"}).ret == [{TGT: 1}]
    assert api.post({**local("shop.two", tgt=TGT), "username": "bob"}).status == 401


def test_a_reload_finds_new_scripts_and_keeps_what_runs(start, front, modules, tmp_path):
    running = tmp_path / "running"
    write(modules, "shop.old", f"touch {running}; sleep 2; echo 1")
    daemon = start(with_modules(modules))
    api = front(daemon)
    jid = api.run({**local("shop.old", tgt=TGT), "client": "local_async"})[0]["jid"]
    wait_until(running.exists, "the script runs")
    write(modules, "shop.new", "echo 2")
    assert call(api, "shop.new") == "'shop.new' is not available."
    (modules / "shop.old").unlink()
    daemon.kill(signal.SIGHUP)
    wait_for_function(api, "shop.new")
    assert call(api, "shop.old") == "'shop.old' is not available."
    wait_for_return(api, jid, 1)


def wait_for_function(api, fun):
    wait_until(lambda: fun in call(api, "sys.list_functions"), f"{fun} is there")


def wait_for_return(api, jid, value):
    def returned():
        return api.run(chunk("runner", "jobs.lookup_jid", jid=jid))[0] == {TGT: value}

    wait_until(returned, "the job returned")


def test_what_others_could_have_written_is_no_function(start, front, modules):
    write(modules, "shop.open", "echo 1", mode=0o777)
    daemon = start(with_modules(modules))
    api = front(daemon)
    assert call(api, "shop.open") == "'shop.open' is not available."
    assert "shop.open is left out" in daemon.log()


def test_a_script_wins_over_a_native_function(start, front, modules):
    write(modules, "test.ping", "echo 5")
    assert call(front(start(with_modules(modules))), "test.ping") == 5


def test_a_folder_that_is_not_there_is_a_mistake(directory):
    master = directory / "master"
    master.write_text(json.dumps(master_config(directory, with_modules(directory / "nosuch"))))
    result = run("--config", master, "--check-config")
    assert result.returncode == 78
    assert "module_dirs" in result.stderr and "No such file or directory" in result.stderr
