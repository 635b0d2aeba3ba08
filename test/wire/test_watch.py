# SPDX-License-Identifier: MIT
"""`--watch`: the events of the service in the terminal."""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import threading

import pytest

from support import daemon as daemons
from support.api import JSON, Api, local
from support.daemon import BINARY, merge
from support.nginx import certificate
from support.process import TIMEOUT, free_port, wait_until
from support.rest import api_of, login, serving, session


class Watch:
    """A running `rest_fcgi --watch`."""

    def __init__(self, *args, env=None):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([BINARY, "--watch", *args], env={**os.environ, **(env or {})}, **pipes)
        self._lines, self._said = queue.Queue(), queue.Queue()
        for file, lines in ((self.process.stdout, self._lines), (self.process.stderr, self._said)):
            threading.Thread(target=lambda file=file, lines=lines: [lines.put(line) for line in file], daemon=True).start()

    def line(self, timeout=TIMEOUT):
        return self._lines.get(timeout=timeout)

    def said(self, timeout=TIMEOUT):
        """Returns the next line on standard error."""
        return self._said.get(timeout=timeout)


@contextlib.contextmanager
def watching(*args, env=None):
    watch = Watch(*args, env=env)
    try:
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()


@pytest.mark.parametrize("module", ["rest_cherrypy", "rest_tornado"])
def test_events_are_printed_also_after_a_restart_of_the_service(start, directory, module):
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
        watching_this = f"rest_fcgi: --watch: watching {api.url.rstrip('/')} as saltdev, "
        assert text.said() == watching_this + "events with the tag salt/job/*\n"
        assert as_json.said() == watching_this + "events with the tag salt/job/*/new\n"
        lines = first + second
        assert re.search(r"^\d\d:\d\d:\d\d salt/job/\d+/new fun=test.ping tgt=ms-0 user=saltdev$", lines, re.MULTILINE), lines
        assert re.search(r"^\d\d:\d\d:\d\d salt/job/\d+/ret/ms-0 id=ms-0 fun=test.ping.* success=true", lines, re.MULTILINE), lines
        daemon.stop()
        for one in (text, as_json):
            assert "ended the event stream" in (said := one.said()) and "connecting again" in said
        start(merge(serves, {"cachedir": str(daemon.directory / "cache")}))
        for one in (text, as_json):
            assert one.said().startswith(watching_this)
        wait_until(has_events, "events are printed again")
        assert api.request("POST", "/logout", headers=session(token)).status == 200
        for one in (text, as_json):
            assert "The session has ended." in one.said()
            assert one.process.wait(TIMEOUT) == 77 and "401" in one.said()


def shown_on_terminal(*args, env):
    """Runs `--watch` on a terminal. Returns the process and a function that returns all that was shown so far."""
    terminal, end = os.openpty()
    process = subprocess.Popen([BINARY, "--watch", *args], env={**os.environ, "TERM": "xterm", **env}, stdout=end, stderr=subprocess.DEVNULL)
    os.close(end)
    shown = bytearray()

    def read():
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 4096):
                shown.extend(part)

    threading.Thread(target=read, daemon=True).start()
    return process, lambda: bytes(shown).decode()


def test_only_a_terminal_gets_colours_and_no_color_turns_them_off(on_port):
    api = on_port()
    env = {"SALTAPI_TOKEN": login(api), "SALTAPI_URL": api.url}
    args = ("--tag", "salt/job/*/ret/*", "--tag", "nothing")
    fail = json.dumps([local("test.fib", tgt="ms-0", arg=["x"])])
    coloured, in_colour = shown_on_terminal(*args, env=env)
    plain, without = shown_on_terminal(*args, env={**env, "NO_COLOR": "1"})
    try:
        with watching(*args, env=env) as piped:

            def printed():
                api.request("POST", "/run", fail, JSON)
                with contextlib.suppress(queue.Empty):
                    return in_colour() and without() and piped.line(0.2)

            line = wait_until(printed, "all three print the failure")
            assert " or nothing" in piped.said()
    finally:
        for process in (coloured, plain):
            process.kill()
            process.wait()
    assert "\033[1;31m" in in_colour() and "\033" not in without() + line
    assert re.search(r" success=false .*: \w.+$", line.rstrip()), line


def test_a_reader_that_falls_behind_is_told_so_and_counted(start):
    serves, port = serving(), free_port()
    start(merge(serves, {"log_level": "warning", "rest_fcgi": {"metrics": {"listen": f"127.0.0.1:{port}"}}}))
    api, metrics = api_of(serves), Api("127.0.0.1", port)
    large = json.dumps([local("test.arg", arg=["x" * 500_000]) for _ in range(4)])
    with watching("--json", env={"SALTAPI_TOKEN": login(api), "SALTAPI_URL": api.url}) as watch:
        assert "watching" in watch.said()
        os.kill(watch.process.pid, signal.SIGSTOP)

        def is_counted():
            assert api.request("POST", "/run", large, JSON).status == 200
            return "rest_fcgi_streams_closed_slow_total 1\n" in metrics.request("GET", "/metrics").text

        wait_until(is_counted, "the reader is counted", 2 * TIMEOUT)
        os.kill(watch.process.pid, signal.SIGCONT)
        assert "read too slowly" in watch.said()
        wait_until(lambda: "rest_fcgi/events/lost" in watch.line(), "the loss is an event")


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
    assert gone.returncode == 1 and gone.stderr.count("\n") == 1 and "watching" not in gone.stderr


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
