# SPDX-License-Identifier: MIT
"""`--watch`: the events of the service in the terminal."""

import contextlib
import json
import os
import queue
import re
import subprocess
import threading

import pytest

from support import daemon as daemons
from support.api import JSON, Api, local
from support.daemon import BINARY
from support.nginx import certificate
from support.process import TIMEOUT, wait_until
from support.rest import api_of, login, serving


class Watch:
    """A running `rest_fcgi --watch`."""

    def __init__(self, *args, env=None):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([BINARY, "--watch", *args], env={**os.environ, **(env or {})}, **pipes)
        self._lines = queue.Queue()
        threading.Thread(target=lambda: [self._lines.put(line) for line in self.process.stdout], daemon=True).start()

    def line(self, timeout=TIMEOUT):
        return self._lines.get(timeout=timeout)

    def end(self):
        """Waits for the end. Returns the status and the text on standard error."""
        return self.process.wait(TIMEOUT), self.process.stderr.read()


@contextlib.contextmanager
def watching(*args, env=None):
    watch = Watch(*args, env=env)
    try:
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()


@pytest.mark.parametrize("module", ["rest_cherrypy", "rest_tornado"])
def test_events_are_printed_until_the_service_ends(start, directory, module):
    serves = serving(module)
    daemon = start(serves)
    api = api_of(serves, module)
    token = login(api)
    (directory / "token").write_text(token + "\n")
    args = ("--config", daemon.config_path, "--token-file", directory / "token")
    with watching(*args, "--tag", "salt/job/*") as text, watching(*args, "--json", "--tag", "salt/job/*/new") as as_json:
        ping = json.dumps([local("test.ping", tgt="ms-0")])

        def has_events():
            assert api.request("POST", "/run", ping, JSON).status == 200
            with contextlib.suppress(queue.Empty):
                return as_json.line(0.2), text.line(0.2), text.line(0.2)

        event, first, second = wait_until(has_events, "events are printed")
        assert json.loads(event)["data"]["fun"] == "test.ping"
        lines = first + second
        assert re.search(r"^\d\d:\d\d:\d\d salt/job/\d+/new fun=test.ping tgt=ms-0 user=saltdev$", lines, re.MULTILINE), lines
        assert re.search(r"^\d\d:\d\d:\d\d salt/job/\d+/ret/ms-0 id=ms-0 fun=test.ping.* success=true", lines, re.MULTILINE), lines
        daemon.stop()
        for one in (text, as_json):
            status, said = one.end()
            assert status == 1 and said.count("\n") == 1 and "the event stream ended" in said


def test_a_wrong_token_and_a_missing_service_are_named(start):
    serves = serving()
    daemon = start(serves)
    url = api_of(serves).url
    assert daemons.run("--watch", "--config", daemon.config_path, env={"SALTAPI_TOKEN": ""}).returncode == 78
    env = {"SALTAPI_TOKEN": "0" * 40, "SALTAPI_URL": url}
    refused = daemons.run("--watch", env=env)
    assert refused.returncode == 77 and f"--watch: {url}: " in refused.stderr and "401" in refused.stderr
    other = daemons.run("--watch", "--url", url + "/minions", env={**env, "SALTAPI_TOKEN": login(api_of(serves))})
    assert other.returncode == 1 and "expected an event stream" in other.stderr
    daemon.stop()
    gone = daemons.run("--watch", env=env)
    assert gone.returncode == 1 and gone.stderr.count("\n") == 1


def test_ssl_cert_file_names_the_certificate_to_trust(start, directory):
    certificate(directory)
    serves = serving(disable_ssl=False, ssl_crt=str(directory / "cert.pem"), ssl_key=str(directory / "key.pem"))
    start(serves)
    port = serves["rest_cherrypy"]["port"]
    api = Api("127.0.0.1", port, ca=directory / "cert.pem")
    env = {"SALTAPI_TOKEN": login(api), "SALTAPI_URL": f"https://localhost:{port}"}
    distrusted = daemons.run("--watch", env=env)
    assert distrusted.returncode == 1 and "SSL_CERT_FILE" in distrusted.stderr
    with watching(env={**env, "SSL_CERT_FILE": str(directory / "cert.pem")}) as watch:

        def printed():
            assert api.request("POST", "/run", json.dumps([local("test.ping")]), JSON).status == 200
            with contextlib.suppress(queue.Empty):
                return watch.line(0.2)

        wait_until(printed, "an event is printed")
