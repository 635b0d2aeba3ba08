# SPDX-License-Identifier: MIT

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import stat
import time

from support import daemon as daemons
from support import fastcgi
from support.api import CRED, JSON, Api, chunk, local
from support.daemon import merge
from support.jobs import call
from support.nginx import certificate
from support.process import TIMEOUT, connect, free_port, wait_until
from support.rest import api_of, login, serving, session

SAMPLE = re.compile(r'^([a-z_]+)(\{.*\})? (\S+)$', re.MULTILINE)


def watched(changes=None, **keys):
    """Returns a configuration with metrics, and the Api of the metrics port."""
    port = free_port()
    return merge({"rest_fcgi": {"metrics": {"listen": f"127.0.0.1:{port}", **keys}}}, changes or {}), Api("127.0.0.1", port)


def samples(api):
    """Returns a map from each sample, such as NAME{LABELS}, to its value."""
    reply = api.request("GET", "/metrics")
    assert reply.status == 200, reply
    return {name + labels: float(value) for name, labels, value in SAMPLE.findall(reply.text)}


def test_requests_jobs_and_returns_are_counted(start):
    serves = serving()
    changes, metrics = watched(serves)
    start(changes)
    api = api_of(serves)
    for low in (local("test.ping"), local("test.ping", tgt="ms-0"), chunk("runner", "manage.up")):
        assert api.request("POST", "/run", json.dumps(low), JSON).status == 200
    assert api.request("GET", "/metrics").status == 404
    api.request("POST", "/login", json.dumps({**CRED, "password": "wrong"}), JSON)
    keyed = {**JSON, "Idempotency-Key": "a-key"}
    statuses = [api.request("POST", "/run", json.dumps(chunk("runner", "manage.up", **low)), keyed).status for low in ({}, {}, {"arg": [1]})]
    assert statuses == [200, 200, 422]
    found = samples(metrics)
    assert found["rest_fcgi_idempotency_replays_total"] == found["rest_fcgi_idempotency_conflicts_total"] == 1
    assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="401",client="login"}'] == 1
    assert found['rest_fcgi_logins_total{result="refused"}'] == 1 and found['rest_fcgi_logins_total{result="accepted"}'] == 6
    assert found["rest_fcgi_login_failures"] >= 1 and found["rest_fcgi_store_writable"] == 1
    assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="200",client="local"}'] == 2
    assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="404",client="none"}'] == 1
    assert found['rest_fcgi_build_info{version="0.1.0",engine="embedded"}'] == 1
    assert found["process_open_fds"] > 5 and found["rest_fcgi_threads"] >= 4
    assert found['rest_fcgi_connections{protocol="http"}'] >= 1 and found["rest_fcgi_streams"] == 0
    assert 1 <= found["rest_fcgi_http_connections_left"] < 4096
    assert abs(found["rest_fcgi_files_left"] - found["process_max_fds"] + found["process_open_fds"]) <= 1
    assert found['salt_new_job_total{function="test.ping",state=""}'] == 2
    assert found['salt_expected_responses_total{function="test.ping",state=""}'] == 4
    assert found['salt_function_responses_total{function="test.ping",state="",success="true"}'] == 4
    assert found['salt_responses_total{minion="master",success="true"}'] == 2
    assert found["salt_health_minions_total"] == 3
    assert found['salt_health_last_heartbeat{minion="ms-0"}'] > 1e9


def test_ready_says_stopping_until_the_process_ends(start):
    """Over the port of the metrics, the port of the API and FastCGI. Other new requests get 503."""
    serves = serving()
    changes, metrics = watched(serves)
    daemon = start(merge(changes, {"rest_fcgi": {"health": True}}))
    api = api_of(serves)

    def over_fastcgi(path):
        reply = fastcgi.talk(daemon.address, fastcgi.request(REQUEST_METHOD="GET", PATH_INFO=path, REQUEST_URI=path))
        return reply.status, json.loads(reply.body)

    def over_http(port, path):
        reply = port.request("GET", path)
        return reply.status, json.loads(reply.text)

    with connect(daemon.address) as connection:
        body = json.dumps(local("test.sleep", tgt="ms-0", arg=[5])).encode()
        connection.sendall(fastcgi.request(body, PATH_INFO="/run", REQUEST_URI="/run"))
        wait_until(lambda: samples(metrics)["rest_fcgi_jobs_running"] == 1, "the job runs")
        os.kill(daemon.pid, signal.SIGTERM)
        daemon.await_log("ending")
        for _ in range(3):
            for path, status in (("/ready", 503), ("/health", 200)):
                said = [over_http(metrics, path), over_http(api, path), over_fastcgi(path)]
                assert [one[0] for one in said] == [status] * 3, said
                assert path == "/health" or all(one[1] == {"ready": False, "stopping": True} for one in said), said
            assert api.request("GET", "/").status == 503
            time.sleep(0.5)
        assert fastcgi.receive(connection).status == 200
    _, status = os.waitpid(daemon.pid, 0)
    assert status == 0


def test_metrics_and_health_answer_while_all_threads_are_busy(start):
    changes, metrics = watched()
    few = {"max_threads": 1, "min_threads": 1, "max_waiting": 1, "shutdown_timeout": 0}
    daemon = start(merge(changes, {"rest_fcgi": few}))
    request = fastcgi.request(json.dumps([local("test.sleep", tgt="ms-0", arg=[600])]).encode())
    with contextlib.ExitStack() as stack:
        for _ in range(2):  # one request runs and one waits for its thread
            connection = stack.enter_context(connect(daemon.address))
            connection.sendall(request)
        wait_until(lambda: samples(metrics)["rest_fcgi_requests_waiting"] == 1, "a request waits")
        begun = time.monotonic()
        assert samples(metrics)["rest_fcgi_requests_in_flight"] == 1
        assert metrics.request("GET", "/health").status == 200 and ready(metrics)[0] == 200
        assert time.monotonic() - begun < 1


def test_overload_is_counted_and_logged_once_and_health_does_not_wait(start):
    serves = serving()
    changes, metrics = watched(serves)
    few = {"max_threads": 2, "min_threads": 1, "max_waiting": 1, "health": True, "shutdown_timeout": 1}
    daemon, api = start(merge(changes, {"rest_fcgi": few})), api_of(serves)
    slow = json.dumps([local("test.sleep", tgt="ms-0", arg=[3])])
    posted = f"POST /run HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(slow)}\r\n\r\n{slow}"

    def over_fastcgi(method, path, body=b""):
        return fastcgi.talk(daemon.address, fastcgi.request(body, REQUEST_METHOD=method, PATH_INFO=path, REQUEST_URI=path))

    with contextlib.ExitStack() as stack:
        busy = []
        for _ in range(3):
            busy.append(stack.enter_context(connect(("127.0.0.1", serves["rest_cherrypy"]["port"]))))
            busy[-1].sendall(posted.encode())
        wait_until(lambda: samples(metrics)["rest_fcgi_requests_waiting"] == 1, "a request waits")
        begun = time.monotonic()
        assert [api.request("POST", "/run", slow, JSON).status for _ in range(5)] == [503] * 5
        assert [over_fastcgi("POST", "/run", slow.encode()).status, over_fastcgi("GET", "/minions").status] == [503] * 2
        for health in (api.request("GET", "/health").status, over_fastcgi("GET", "/health").status):
            assert health == 200
        assert api.request("FROB", "/health").status == over_fastcgi("FROB", "/health").status == 405
        assert time.monotonic() - begun < 2
        found = samples(metrics)
        assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="503",client="none"}'] == 7
        for one in busy:
            assert one.recv(1000).startswith(b"HTTP/1.1 200 ")
    found = samples(metrics)
    within = found['rest_fcgi_request_duration_seconds_bucket{client="local",le="3.0"}']
    assert found['rest_fcgi_request_duration_seconds_count{client="local"}'] - within >= 1, "no request has waited"
    daemon.await_log("overload: ")
    assert daemon.log().count("overload: ") == 1 and "is refused with 503" not in daemon.log()


def test_the_port_of_the_api_has_health_and_metrics_for_users_with_the_rule_metrics(start):
    serves = serving()
    rules = {"saltdev": [".*"], "prometheus": ["@metrics"]}
    start(merge(serves, {"rest_fcgi": {"health": True, "metrics": {"on_api": True}}, "external_auth": {"file": rules}}))
    api = api_of(serves)
    assert ready(api) == (200, {"ready": True})

    def scrape(headers=None):
        return api.request("GET", "/metrics", headers=headers or {})

    token = login(api, username="prometheus")
    for headers in (session(token), {"Authorization": f"Bearer {token}"}):
        reply = scrape(headers)
        assert reply.status == 200 and "rest_fcgi_build_info" in reply.text, reply
    for headers in ({}, session("0" * 40), session(login(api))):
        reply = scrape(headers)
        assert reply.status == 401 and "rest_fcgi_" not in reply.text, reply
    assert api.request("POST", "/logout", headers=session(token)).status == 200
    assert scrape(session(token)).status == 401


def test_authorized_ips_also_limit_metrics_on_the_port_of_the_api(start):
    serves = merge(serving(), {"rest_cherrypy": {"authorized_ips": ["192.0.2.1"]}})
    start(merge(serves, {"rest_fcgi": {"metrics": {"on_api": True}}}))
    reply = api_of(serves).request("GET", "/metrics")
    assert reply.status == 403 and "authorized_ips" in reply.text, reply


def ready(api):
    reply = api.request("GET", "/ready")
    return reply.status, reply.json


def test_a_store_that_cannot_be_written_makes_ready_503_and_counts_failed_writes(start):
    changes, metrics = watched()
    daemon = start(merge(changes, {"master_job_cache": "sqlite3"}))
    assert ready(metrics) == (200, {"ready": True, "checks": {"store": {"ok": True}, "certificates": {"ok": True}}})
    assert daemons.run("--config", daemon.config_path, "--health").returncode == 0
    assert call(daemon.address, local("test.ping"))
    before = samples(metrics)
    assert before['rest_fcgi_ready{check="store"}'] == before['rest_fcgi_ready{check="certificates"}'] == 1
    assert before["rest_fcgi_jobs_stored_total"] == 1 and before["rest_fcgi_job_writes_failed_total"] == 0
    assert before['rest_fcgi_store_commit_duration_seconds_count{durable="false"}'] >= 1
    (path,) = daemon.directory.rglob("state.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        assert call(daemon.address, local("test.ping"))
        wait_until(lambda: ready(metrics)[0] == 503, "ready is 503")
        checked = daemons.run("--config", daemon.config_path, "--health")
        assert checked.returncode == 1 and not json.loads(checked.stdout)["checks"]["store"]["ok"], checked
        assert metrics.request("GET", "/health").status == 200
        assert samples(metrics)['rest_fcgi_ready{check="store"}'] == 0
    after = samples(metrics)
    assert after["rest_fcgi_jobs_stored_total"] == 1 and after["rest_fcgi_job_writes_failed_total"] >= 1
    wait_until(lambda: ready(metrics)[0] == 200, "ready is 200 again")


def test_metrics_are_served_on_a_unix_socket(start, directory):
    path = directory / "metrics.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    daemon = start({"rest_fcgi": {"metrics": {"listen": f"unix:{path}"}}})
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    with connect(str(path)) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: ::1\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200 and b"rest_fcgi_build_info" in answer.read()
    checked = daemons.run("--config", daemon.config_path, "--health")
    assert checked.returncode == 0 and json.loads(checked.stdout)["ready"], checked
    assert daemon.stop() == 0 and not path.exists()
    checked = daemons.run("--config", daemon.config_path, "--health")
    assert checked.returncode == 1 and f"does not answer on unix:{path}" in checked.stderr


def test_a_certificate_that_is_gone_makes_the_service_not_ready(start, directory):
    certificate(directory)
    files = {"ssl_crt": str(directory / "cert.pem"), "ssl_key": str(directory / "key.pem")}
    changes, metrics = watched(serving(disable_ssl=False, **files))
    start(changes)
    assert ready(metrics)[0] == 200
    (directory / "cert.pem").unlink()
    status, reply = wait_until(lambda: (found := ready(metrics))[0] == 503 and found, "ready is 503")
    assert "cert.pem" in reply["checks"]["certificates"]["text"]


def test_systemd_is_told_about_start_reload_watchdog_and_stop(start, directory, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(directory / "notify"))
        manager.settimeout(TIMEOUT)
        monkeypatch.setenv("NOTIFY_SOCKET", str(directory / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")

        def await_line(line):
            wait_until(lambda: line in manager.recv(4096).decode().splitlines(), f"systemd gets {line}")

        daemon = start()
        await_line("READY=1")
        await_line("WATCHDOG=1")
        os.kill(daemon.pid, signal.SIGHUP)
        await_line("RELOADING=1")
        await_line("READY=1")
        daemon.stop()
        await_line("STOPPING=1")
