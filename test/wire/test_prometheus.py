# SPDX-License-Identifier: MIT
"""A real Prometheus runs every query of the dashboard and every alert."""

import json
import math
import re
import shutil
import subprocess
import threading
import types
import urllib.parse

import pytest

from support.api import JSON, Api, chunk, local
from support.daemon import ROOT, merge
from support.nginx import certificate
from support.process import Process, free_port, wait_until
from support.rest import login, serving

ALERTS = ROOT / "deploy/prometheus/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/rest_fcgi.json"
METRIC = re.compile(r"\b(?:rest_fcgi|salt|process)_[a-z_]+\b")
# Metrics that exist only in front of a Salt master.
ELSEWHERE = {"rest_fcgi_event_bus_joined", "rest_fcgi_master_connections", "rest_fcgi_master_requests_waiting", "salt_function_status"}

NEEDS_PROMETHEUS = pytest.mark.skipif(not shutil.which("prometheus"), reason="prometheus is not installed")


def queries():
    """Returns pairs of a panel's title and a query as Grafana sends it."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    found = [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]
    return [(title, query.replace("$__rate_interval", "5m").replace("$instance", ".*")) for title, query in found]


class Prometheus:
    def __init__(self, directory, targets):
        self.port = free_port()
        scrape = {"job_name": "rest_fcgi", "scrape_interval": "1s", "static_configs": [{"targets": targets}]}
        config = {"global": {"evaluation_interval": "1s"}, "rule_files": [str(ALERTS)], "scrape_configs": [scrape]}
        (directory / "prometheus.yml").write_text(json.dumps(config))
        argv = ["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
        address = ("127.0.0.1", self.port)
        self._process = Process([*argv, f"--web.listen-address=127.0.0.1:{self.port}"], directory / "prometheus.log", address)
        self._api = Api(*address)
        self.stop = self._process.stop
        wait_until(lambda: self._api.request("GET", "/-/ready").status == 200, "Prometheus is ready")

    def get(self, path, **query):
        reply = self._api.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
        assert reply.status == 200, reply
        return reply.json["data"]

    def values(self, query):
        """Returns a map from the labels' values to the value of each series."""
        return {" ".join(one["metric"].values()): float(one["value"][1]) for one in self.get("query", query=query)["result"]}


@pytest.fixture
def scraped(start, directory, keep):
    """Two processes that share a database, the Prometheus that reads both, and a caller for the first one."""
    certificate(directory)
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    served = [serving(disable_ssl=False, ssl_crt=str(directory / "cert.pem"), ssl_key=str(directory / "key.pem")) for _ in addresses]
    for serves, address in zip(served, addresses):
        start(merge(serves, {"cachedir": str(directory / "cache"), "rest_fcgi": {"metrics": {"listen": address}}}))
    api = Api("127.0.0.1", served[0]["rest_cherrypy"]["port"], ca=directory / "cert.pem")
    login(api)
    prometheus = keep(Prometheus(directory, addresses))
    wait_until(lambda: prometheus.values("up") and set(prometheus.values("up").values()) == {1}, "both processes are read")

    def call(low):
        return api.request("POST", "/run", json.dumps(low), JSON).status

    return types.SimpleNamespace(prometheus=prometheus, call=call)


@NEEDS_PROMETHEUS
def test_prometheus_answers_every_query_of_the_dashboard_on_a_healthy_service(scraped):
    prometheus, ended = scraped.prometheus, threading.Event()
    # The panels with one number have a value before the first request.
    panels = dict(queries())
    assert prometheus.values(panels["Status of 500 and more"]) == {"": 0}

    def work():
        while not ended.wait(0.2):
            for low in (local("test.ping"), chunk("runner", "manage.up")):
                assert scraped.call(low) == 200

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert scraped.call({**local("test.sleep", tgt="ms-0", arg=[600]), "client": "local_async"}) == 200
        wanted = set(METRIC.findall(str(queries()) + ALERTS.read_text())) - {"rest_fcgi"} - ELSEWHERE
        wait_until(lambda: wanted <= set(prometheus.get("label/__name__/values")), f"{sorted(wanted)} are read")
        for title, query in queries():
            if not ELSEWHERE.isdisjoint(METRIC.findall(query)) and "vector(0)" not in query:
                assert prometheus.values(query) == {}
                continue
            wait_until(lambda query=query: any(map(math.isfinite, prometheus.values(query).values())), f"{title} has values")
        missing = panels["Returns that are missing"]
        found = wait_until(lambda: prometheus.values(missing).get("test.ping") is not None and prometheus.values(missing), "pings are counted")
        assert "manage.up" not in found and min(found.values()) == 0
        assert list(prometheus.values(panels["Jobs that run"]).values()) == [1], "another process of the database counts the job"
        assert prometheus.values('sum(rest_fcgi_ready{check="store"})') == {"": 2}
    finally:
        ended.set()
        thread.join()


@NEEDS_PROMETHEUS
def test_prometheus_runs_every_alert_and_a_healthy_service_fires_none(scraped):
    def rules():
        found = [rule for group in scraped.prometheus.get("rules")["groups"] for rule in group["rules"]]
        return all(rule["health"] != "unknown" for rule in found) and found

    found = wait_until(rules, "the alerts are evaluated")
    assert len(found) == ALERTS.read_text().count("- alert:")
    # The certificate of the test is valid for two days.
    assert {rule["name"] for rule in found if rule["health"] != "ok" or rule["state"] != "inactive"} <= {"RestFcgiCertificateExpires"}


NEVER = "0x400"
# For each alert: the series with the event and the minute at which it fires; then series that must not fire.
EVENTS = {
    "RestFcgiDown": ({'up{job="rest_fcgi"}': "0x400"}, 5, {'up{job="rest_fcgi"}': "1x400"}),
    "RestFcgiNotReady": ({'rest_fcgi_ready{check="master"}': "0x400"}, 6, {'rest_fcgi_ready{check="master"}': "0 1 0 1x400"}),
    "RestFcgiServerErrors": (
        {'rest_fcgi_requests_total{status="503"}': "0+6x400", 'rest_fcgi_requests_total{status="200"}': "0+60x400"},
        20,
        {'rest_fcgi_requests_total{status="200"}': "0+60x400"},
    ),
    "RestFcgiStoreNotWritable": ({"rest_fcgi_store_writable": "0x400"}, 3, {"rest_fcgi_store_writable": "1x400"}),
    "RestFcgiJobsNotStored": ({"rest_fcgi_job_writes_failed_total": "0+1x400"}, 5, {"rest_fcgi_job_writes_failed_total": NEVER}),
    "RestFcgiMasterOverloaded": ({"rest_fcgi_master_requests_waiting": "3x400"}, 8, {"rest_fcgi_master_requests_waiting": "3 _x400"}),
    "RestFcgiEventBusLost": ({"rest_fcgi_event_bus_joined": "0x400"}, 4, {"rest_fcgi_event_bus_joined": "1x400"}),
    "RestFcgiOutboxGrows": ({"rest_fcgi_outbox_oldest_seconds": "400x400"}, 6, {"rest_fcgi_outbox_oldest_seconds": "200x400"}),
    "RestFcgiCertificateExpires": (
        {"rest_fcgi_certificate_expiry_timestamp_seconds": "86400x400"},
        70,
        {"rest_fcgi_certificate_expiry_timestamp_seconds": "1864000x400"},
    ),
    "RestFcgiLoginsFail": ({'rest_fcgi_logins_total{result="refused"}': "0+90x400"}, 10, {'rest_fcgi_logins_total{result="accepted"}': "0+90x400"}),
    "RestFcgiFilesRunOut": (
        {'process_open_fds{job="rest_fcgi"}': "950x400", 'process_max_fds{job="rest_fcgi"}': "1000x400"},
        6,
        {'process_open_fds{job="rest_fcgi"}': "90x400", 'process_max_fds{job="rest_fcgi"}': "1000x400"},
    ),
    "SaltHighstateFailed": (
        {'salt_function_status{state="highstate"}': "0x400"},
        62,
        {'salt_function_status{state="highstate"}': "1x400"},
    ),
    "SaltMinionSilent": (
        {'salt_health_last_heartbeat{instance="a"}': "0x400", 'rest_fcgi_build_info{engine="salt",instance="a"}': "1x400"},
        70,
        {'salt_health_last_heartbeat{instance="a"}': "0x50 3000x60", 'rest_fcgi_build_info{engine="salt",instance="a"}': "1x400"},
    ),
}


@pytest.mark.skipif(not shutil.which("promtool"), reason="prometheus is not installed")
def test_each_alert_fires_on_its_event_and_not_without(directory):
    assert EVENTS.keys() == set(re.findall(r"- alert: (\w+)", ALERTS.read_text()))

    def case(alert, series, minutes, alerts):
        return {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            # The alert itself is tested, and not its texts.
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                    "eval_time": f"{minute}m",
                    "exp_samples": [{"labels": "{}", "value": alerts}],
                }
                for minute in minutes
            ],
        }

    tests = []
    for alert, (event, minute, healthy) in EVENTS.items():
        tests += [case(alert, event, [minute], 1), case(alert, healthy, range(1, 100, 2), 0)]
    (directory / "tests.yml").write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}))
    ran = subprocess.run(["promtool", "test", "rules", directory / "tests.yml"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_dashboard_has_the_form_of_grafana():
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["schemaVersion"] >= 36 and dashboard["title"] and dashboard["uid"]
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["type"] in ("row", "stat", "timeseries") and panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and place["h"] > 0
        assert panel["type"] == "row" or all(target["refId"] and target["expr"] for target in panel["targets"])
