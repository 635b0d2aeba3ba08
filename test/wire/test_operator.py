# SPDX-License-Identifier: MIT
"""Commands of an operator beside a running service, and what the service logs for the operator."""

import json
import stat

import pytest

from support import daemon as daemons
from support import fastcgi
from support.api import JSON, Api, local
from support.process import free_port, wait_until

BAD = json.dumps([{"token": "0" * 40, "client": "local", "tgt": "*", "fun": "test.ping"}]).encode()
ALICE = {"eauth": "file", "username": "alice", "client": "local", "tgt": "*", "fun": "test.ping"}


def call(daemon, low, **variables):
    return fastcgi.talk(daemon.address, fastcgi.request(json.dumps([low]).encode(), **variables))


def command(daemon, *args, stdin=""):
    done = daemons.run("--config", daemon.config_path, *args, stdin=stdin)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def settings(directory):
    """Settings whose password file --add-user can write. The file has no user yet."""
    users = directory / "people"
    users.write_text("# staff\n")
    users.chmod(0o600)
    return {"cachedir": str(directory / "cache"), "external_auth": {"file": {"^filename": str(users), "^filetype": "htpasswd", "alice": ["test.*"]}}}


def test_an_added_user_logs_in_at_once_and_a_changed_password_counts(settings, directory, start):
    daemon = start(settings)
    status, text = command(daemon, "--add-user", "alice", "--password-stdin", stdin="first\n")
    assert status == 0 and "alice" in text and str(directory / "people") in text
    assert stat.S_IMODE((directory / "people").stat().st_mode) == 0o600
    assert call(daemon, {**ALICE, "password": "first"}).status == 200
    status, text = command(daemon, "--passwd", "alice", "--password-stdin", stdin="second\n")
    assert status == 0
    assert call(daemon, {**ALICE, "password": "second"}).status == 200
    assert call(daemon, {**ALICE, "password": "first"}).status == 401
    status, text = command(daemon, "--add-user", "alice", "--password-stdin", stdin="third\n")
    assert status == 78 and f"{directory / 'people'}:2: " in text
    assert command(daemon, "--passwd", "bob", "--password-stdin", stdin="x\n")[0] == 78
    status, text = command(daemon, "--add-user", "bob")
    assert status == 78 and "--password-stdin" in text  # standard input is no terminal
    status, text = command(daemon, "--add-user", "bob", "--password-stdin", stdin="x\n")
    assert status == 0 and "bob: ['test.*']" in text and f"{daemon.config_path}:" in text
    assert not (directory / "people.new").exists()


def test_a_backup_of_the_running_service_is_restored_after_its_end(settings, directory, start):
    daemon = start(settings)
    command(daemon, "--add-user", "alice", "--password-stdin", stdin="first\n")
    made = command(daemon, "--mk-token", "file:alice", stdin="first\n")
    assert made[0] == 0
    token = {"token": made[1].strip(), "client": "local", "tgt": "*", "fun": "test.ping"}
    copy = directory / "copy.db"
    assert command(daemon, "--backup", copy)[0] == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    status, text = command(daemon, "--backup", copy)
    assert status == 78 and str(copy) in text
    assert command(daemon, "--revoke", "alice")[0] == 0
    assert call(daemon, token).status == 401
    status, text = command(daemon, "--restore", copy)
    assert status == 78 and str(daemon.pid) in text
    assert call(daemon, token).status == 401
    daemon.stop()
    damaged = directory / "damaged.db"
    damaged.write_bytes(copy.read_bytes()[:5000])
    assert command(daemon, "--restore", damaged)[0] == 78
    assert command(daemon, "--restore", directory / "missing.db")[0] == 78
    assert command(daemon, "--restore", copy)[0] == 0
    assert call(start(settings), token).status == 200


def test_refused_requests_do_not_hide_the_line_of_a_permitted_call(start):
    daemon = start()
    for _ in range(300):
        assert fastcgi.talk(daemon.address, fastcgi.request(BAD, REMOTE_ADDR="192.0.2.66")).status == 401
    assert call(daemon, local("test.ping"), REMOTE_ADDR="192.0.2.66").status == 200

    def lines(outcome):
        return [line for line in daemon.log().splitlines() if "remote_addr=192.0.2.66 " in line and f"outcome={outcome}" in line]

    def refused():
        return len(lines("denied")) + sum(int(line.split(" count=")[1].split()[0]) for line in lines("refused"))

    wait_until(lambda: refused() == 300, "each refused request is counted")
    assert len(lines("denied")) < 150 and len(lines("ok")) == 1


def served(**own):
    return {
        "rest_fcgi": {"netapi": ["rest_wsgi", "rest_cherrypy"], **own},
        "rest_cherrypy": {"host": "127.0.0.1", "port": free_port(), "disable_ssl": True},
    }


def over_http(changes, name):
    api = Api("127.0.0.1", changes["rest_cherrypy"]["port"])
    reply = api.request("POST", "/run", json.dumps(local("test.ping")), {**JSON, "X-Request-ID": name})
    assert reply.status == 200
    return reply.headers.get("x-request-id")


def test_the_id_of_a_request_is_in_its_audit_line_and_in_its_reply(start):
    changes = served()
    daemon = start(changes)
    reply = call(daemon, local("test.ping"), REQUEST_ID="f00d-1")
    assert b"x-request-id: f00d-1\r\n" in reply.stdout.lower()
    assert over_http(changes, "f00d-2") == "f00d-2"
    assert b"x-request-id" not in call(daemon, local("test.ping"), REQUEST_ID="a b").stdout.lower()
    first, second, third = (line for line in daemon.log().splitlines() if "outcome=ok" in line)
    assert " request_id=f00d-1 " in first and " request_id=f00d-2 " in second and "request_id" not in third


def test_an_untrusted_client_gives_its_request_no_id(start):
    changes = served(trusted_proxies=[])
    daemon = start(changes)
    assert over_http(changes, "f00d") is None and "f00d" not in daemon.log()


def test_the_log_begins_with_version_configuration_engine_addresses_and_users(start):
    daemon = start({"log_level": "error"})
    wait_until(lambda: " notice " in daemon.log(), "the line of the start is written")
    (line,) = [line for line in daemon.log().splitlines() if " notice " in line]
    version = daemons.run("--version").stdout.split()[1]
    for fact in (version, str(daemon.config_path), "engine embedded", str(daemon.address), "1 user "):
        assert fact in line, fact
