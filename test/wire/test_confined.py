# SPDX-License-Identifier: MIT
"""A rule with conditions on arguments permits one command and nothing else."""

import itertools
import json
import shutil
import urllib.parse

import pytest

from support.api import JSON, local
from support.daemon import merge
from support.process import short_directory
from support.rest import api_of, serving

TGT = "ms-0"
COMMAND = "uptime"
ONE_COMMAND = {"args": [COMMAND]}
RULES = {
    "confined": [{"*": [{"cmd.run": ONE_COMMAND}]}],
    "open": [{"*": [{"cmd.run": {**ONE_COMMAND, "others": True}}]}],
    "named": [{"*": [{"cmd.run": {"kwargs": {"cmd": COMMAND}}}]}],
}
# The first parameters of cmd.run, which a caller can also give as positional arguments.
PARAMETERS = ["cmd", "cwd", "stdin", "runas", "group", "shell", "python_shell", "env", "clean_env", "template"]


@pytest.fixture(scope="module")
def trap():
    """A folder with programs that write a mark when they run."""
    folder = short_directory()
    marker = folder / "ran"
    for name in (COMMAND, "shell"):
        program = folder / name
        program.write_text(f"#!/bin/sh\ntouch {marker}\n")
        program.chmod(0o755)
    (folder / "rc").write_text(f"touch {marker}\n")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def hostile(trap):
    """Returns arguments that would run another program, or run a program as another user."""
    return {
        "env": {"BASH_ENV": f"{trap}/rc", "ENV": f"{trap}/rc", "PATH": f"{trap}:/usr/bin:/bin", "LD_PRELOAD": f"{trap}/rc"},
        "shell": f"{trap}/shell",
        "python_shell": True,
        "runas": "root",
        "cwd": str(trap),
        "template": "jinja",
        "stdin": f"touch {trap}/ran",
    }


def combinations(hostile):
    """Yields each argument alone, each pair of arguments, and all arguments together."""
    for names in (*itertools.combinations(hostile, 1), *itertools.combinations(hostile, 2), tuple(hostile)):
        yield {name: hostile[name] for name in names}


def as_texts(arguments):
    """Returns the arguments as texts of the form name=value."""
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]


def in_order(arguments):
    values = [arguments.get(name) for name in PARAMETERS[1:]]
    while values and values[-1] is None:
        values.pop()
    return values


@pytest.fixture
def served(start):
    """A process that serves rest_wsgi over FastCGI and rest_cherrypy, and the Api of rest_cherrypy."""
    changes = merge(serving(), {"external_auth": {"file": RULES}, "rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"]}})
    return start(changes), api_of(changes)


@pytest.fixture
def post(served, front):
    return front(served[0]).post


def call(*arg, user="confined", **more):
    return {**local("cmd.run", TGT, arg=list(arg), **more), "username": user}


def ran(trap):
    """Returns whether another program ran. Removes the file that such a program creates."""
    marker = trap / "ran"
    found = marker.exists()
    marker.unlink(missing_ok=True)
    return found


def test_each_trap_detects_a_foreign_program(post, trap, hostile):
    assert not ran(trap)
    for names in (["python_shell", "shell"], ["env"], ["cwd", "env", "python_shell"]):
        reply = post(call(COMMAND, user="open", kwarg={name: hostile[name] for name in names}))
        assert reply.status == 200 and ran(trap), names


def test_extra_arguments_of_any_form_run_no_other_program(post, trap, hostile):
    reply = post(call(COMMAND))
    assert reply.status == 200 and "load average" in reply.text
    for arguments in combinations(hostile):
        lows = [
            call(COMMAND, kwarg=arguments),
            call(COMMAND, *as_texts(arguments)),
            call(*as_texts(arguments), COMMAND),
            call(COMMAND, *in_order(arguments)),
            call({"__kwarg__": True, **arguments}, COMMAND),
            call(user="named", kwarg={"cmd": COMMAND, **arguments}),
        ]
        assert [post(low).status for low in lows] == [401] * len(lows), arguments
        assert not ran(trap), arguments


def test_other_forms_of_the_call_run_no_other_program(post, trap, hostile):
    env = {"env": hostile["env"], "shell": hostile["shell"], "python_shell": True}
    refused = [
        *(call(word) for word in ("uptime\n", " uptime", "uptime ", "uptime\0", "uptime;id", "UPTIME", "./uptime", "")),
        call([COMMAND]),
        call(),
        call(COMMAND, COMMAND),
        call(COMMAND, None),
        call(COMMAND, {"__kwarg__": False, **env}),
        call({"__kwarg__": True, **env}, COMMAND),
        call(COMMAND, kwarg={"cmd": f"{trap}/uptime"}),
        call(kwarg={"cmd": COMMAND}),
        call(f"cmd={COMMAND}"),
        {**call(), "fun": ["cmd.run"], "arg": [[COMMAND, {"__kwarg__": True, **env}]]},
        {**call(), "fun": ["cmd.run", "cmd.run"], "arg": [[COMMAND], [f"{trap}/uptime"]]},
        {**call(), "fun": ["cmd.run", "cmd.shell"], "arg": [[COMMAND], [COMMAND]]},
        *({**call(COMMAND), "fun": fun} for fun in ("cmd.shell", "cmd.run_all", "cmd.run ", "cmd.run\n", "CMD.run", "cmd.run,a.b")),
        {**call("sh", f"touch {trap}/ran"), "fun": "cmd.exec_code"},
        {**call("cmd.run", f"touch {trap}/ran"), "fun": "module.run"},
        *({**call(COMMAND), "client": client} for client in ("runner", "runner_async", "wheel", "wheel_async")),
        {**call(TGT, "cmd.run", f"touch {trap}/ran"), "client": "runner", "fun": "salt.execute"},
        *({**call(COMMAND, kwarg=env), "client": client} for client in ("local_async", "local_batch", "local_subset")),
    ]
    for low in refused:
        assert post(low).status in (400, 401), low
        assert not ran(trap), low


def test_keys_of_the_chunk_do_not_become_arguments(post, trap, hostile):
    executors = {"module_executors": ["sudo"], "executor_opts": hostile, "ret_kwargs": hostile}
    for more in (hostile, executors, {"metadata": hostile}, {"timeout": 5, "full_return": True, "jid": ""}):
        reply = post({**call(COMMAND), **more})
        assert reply.status in (200, 400) and ("load average" in reply.text or reply.status == 400), reply
        assert not ran(trap), more


def test_forms_and_json_of_the_rest_interface_obey_the_same_rules(served, trap):
    _, api = served
    cred = {"username": "confined", "password": "x", "eauth": "file"}
    login = api.request("POST", "/login", json.dumps(cred), JSON)
    session = {"X-Auth-Token": login.ret[0]["token"]}
    form = {"client": "local", "tgt": TGT, "fun": "cmd.run"}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    evil = [("arg", COMMAND), ("arg", f"shell={trap}/shell"), ("arg", "python_shell=True")]
    for path, who in (("/run", cred), ("/", {}), ("/minions", {})):
        fields = [*{**form, **who}.items()]
        good, bad = (urllib.parse.urlencode([*fields, *more]) for more in ([("arg", COMMAND)], evil))
        assert api.request("POST", path, good, {**headers, **session}).status in (200, 202), path
        assert api.request("POST", path, bad, {**headers, **session}).status == 401, path
        twice = json.dumps({**form, **who, "arg": [COMMAND]})[:-1] + ', "kwarg": {}, "kwarg": {"python_shell": true}}'
        assert api.request("POST", path, f"[{twice}]", {**JSON, **session}).status in (400, 401), path
        assert not ran(trap), path
