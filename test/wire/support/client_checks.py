# SPDX-License-Identifier: MIT
"""Checks with published clients of salt-api. The clients are pepper and curl."""

import dataclasses
import json
import pathlib
import stat
import subprocess

from .foreign_clients import Pepper
from .salt_master import MINIONS, SECRET

FORM = ("-d", "username=saltdev", "-d", "password=x", "-d", "eauth=file")
LIMITED = ("-a", "sharedsecret", "--username", "limited", "--password")


@dataclasses.dataclass
class Place:
    url: str
    home: pathlib.Path

    @property
    def pepper(self):
        return Pepper(self.url, self.home)

    def curl(self, path, *words):
        argv = ["curl", "-sS", "--max-time", "120", *words, self.url + path]
        return subprocess.run(argv, capture_output=True, check=True, cwd=self.home).stdout.decode()


def returns(ret):
    """Returns a map from minion to return, from the client option `full_return`."""
    return {minion: full["ret"] for minion, full in ret[0].items()}


def pepper_runs_functions(place):
    pepper = place.pepper
    assert returns(pepper.returned("ms-*", "test.ping")) == dict.fromkeys(MINIONS, True)
    value = returns(pepper.returned("ms-0", "test.arg", "a", "b=1"))["ms-0"]
    assert value["args"] == ["a"] and value["kwargs"]["b"] == 1
    assert pepper.returned("--batch", "1", "ms-0", "test.ping")[0]["ms-0"]
    low = json.dumps([{"client": "local", "tgt": "ms-0", "fun": "test.echo", "arg": [[1, 2]]}])
    assert returns(pepper.returned("--json", low)) == {"ms-0": [1, 2]}
    retcodes = [pepper.returned("ms-0", fun)[0]["ms-0"]["retcode"] for fun in ("test.ping", "nosuch.fun")]
    assert retcodes[0] == 0 and retcodes[1] != 0  # pepper's options --fail-any and --fail-all read the retcode


def pepper_uses_other_clients(place):
    pepper = place.pepper
    (jobs,) = pepper.returned("--client", "runner", "jobs.list_jobs")
    assert jobs["data"]["success"] and isinstance(jobs["data"]["return"], dict)
    (args,) = pepper.returned("--client", "runner", "test.arg", "a", "b=1")
    assert args["data"]["return"] == {"args": ["a"], "kwargs": {"b": 1}}
    (keys,) = pepper.returned("--client", "wheel", "key.list_all")
    assert set(keys["data"]["return"]["minions"]) >= set(MINIONS)
    (job,) = pepper.returned("--client", "local_async", "ms-0", "test.ping")
    assert job["minions"] == ["ms-0"]
    (job,) = pepper.returned("--client", "runner_async", "test.arg")
    assert job["tag"] == f"salt/run/{job['jid']}"


def pepper_keeps_a_token(place):
    kept = place.home / "kept"
    assert place.pepper("--make-token", "-x", str(kept), "ms-0", "test.ping").returncode == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    token = json.loads(kept.read_text())["token"]
    no_login = ("-a", "file", "--username", "nobody", "--password", "wrong")
    assert place.pepper.returned("-T", "-x", str(kept), "ms-0", "test.ping", login=no_login)
    assert json.loads(kept.read_text())["token"] == token


def pepper_takes_a_token_for_run(place):
    assert returns(place.pepper.returned("-r", "ms-0", "test.ping")) == {"ms-0": True}
    assert place.pepper.returned("-r", "--client", "runner", "test.arg")


def pepper_is_refused(place):
    wrong = place.pepper("ms-0", "test.ping", login=(*LIMITED, "wrong"))
    assert wrong.returncode == 1 and "Authentication denied" in wrong.stderr
    denied = place.pepper("*", "test.ping", login=(*LIMITED, SECRET))
    assert denied.returncode == 1 and "Authentication denied" in denied.stderr
    assert place.pepper.returned("ms-0", "test.ping", login=(*LIMITED, SECRET))


def curl_has_a_session_by_its_cookie_jar(place):
    place.curl("/login", "-c", "jar", *FORM)
    assert json.loads(place.curl("/minions/ms-0", "-b", "jar"))["return"][0]["ms-0"]["id"] == "ms-0"
    ping = ("-d", "client=local", "-d", "tgt=ms-*", "-d", "fun=test.ping")
    assert json.loads(place.curl("/", "-b", "jar", *ping))["return"] == [dict.fromkeys(MINIONS, True)]
    old = (place.home / "jar").read_text()
    assert "cleared" in place.curl("/logout", "-b", "jar", "-c", "jar", "-X", "POST")
    assert "session_id" not in (place.home / "jar").read_text()
    (place.home / "jar").write_text(old)
    assert place.curl("/jobs", "-b", "jar", "-o", "refused", "-w", "%{http_code}") == "401"


def curl_sends_forms_and_yaml(place):
    call = ("-d", "client=local", "-d", "tgt=ms-0", "-d", "fun=test.arg")
    reply = place.curl("/run", *FORM, *call, "-d", "arg=1", "-d", "arg=two", "--data-urlencode", "arg={a: [3]}")
    assert json.loads(reply)["return"][0]["ms-0"]["args"] == [1, "two", {"a": [3]}]
    yaml = "client: local\ntgt: ms-0\nfun: test.echo\narg: [{a: 017}]\nusername: saltdev\npassword: x\neauth: file\n"
    media = ("-H", "Content-Type: application/x-yaml", "-H", "Accept: application/x-yaml")
    assert place.curl("/run", *media, "--data-binary", yaml).split() == ["return:", "-", "ms-0:", "a:", "17"]


CHECKS = [
    pepper_runs_functions,
    pepper_uses_other_clients,
    pepper_keeps_a_token,
    pepper_takes_a_token_for_run,
    pepper_is_refused,
    curl_has_a_session_by_its_cookie_jar,
    curl_sends_forms_and_yaml,
]
