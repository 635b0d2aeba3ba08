# SPDX-License-Identifier: MIT
"""The alerts and the dashboard name metrics that a real Prometheus reads."""

import json
import re
import shutil
import urllib.parse

import pytest

from support.api import JSON, Api, local
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


def expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


@pytest.fixture
def prometheus(start, directory):
    certificate(directory)
    serves = serving(disable_ssl=False, ssl_crt=str(directory / "cert.pem"), ssl_key=str(directory / "key.pem"))
    metrics, port = f"127.0.0.1:{free_port()}", free_port()
    start(merge(serves, {"rest_fcgi": {"metrics": {"listen": metrics}}}))
    api = Api("127.0.0.1", serves["rest_cherrypy"]["port"], ca=directory / "cert.pem")
    login(api)
    api.request("POST", "/run", json.dumps(local("test.ping")), JSON)
    scrape = {"job_name": "rest_fcgi", "scrape_interval": "1s", "static_configs": [{"targets": [metrics]}]}
    (directory / "prometheus.yml").write_text(json.dumps({"rule_files": [str(ALERTS)], "scrape_configs": [scrape]}))
    argv = ["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
    process = Process([*argv, f"--web.listen-address=127.0.0.1:{port}"], directory / "prometheus.log", ("127.0.0.1", port))
    server = Api("127.0.0.1", port)
    wait_until(lambda: server.request("GET", "/-/ready").status == 200, "Prometheus is ready")
    yield server
    process.stop()


@NEEDS_PROMETHEUS
def test_prometheus_reads_the_metrics_that_alerts_and_dashboard_name(prometheus):
    def get(path, **query):
        return prometheus.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}").json["data"]

    def target():
        (found,) = get("targets")["activeTargets"] or [{"health": "unknown"}]
        return found if found["health"] != "unknown" else None

    scraped = wait_until(target, "Prometheus has read the metrics")
    assert scraped["health"] == "up", scraped["lastError"]
    names = set(get("label/__name__/values"))
    wanted = set(METRIC.findall(" ".join(expressions()) + ALERTS.read_text())) - {"rest_fcgi"}
    assert wanted - names - ELSEWHERE == set()
    for expression in expressions():
        plain = expression.replace("$__rate_interval", "5m").replace("$instance", ".*")
        get("query", query=plain)
    (ping,) = get("query", query='salt_new_job_total{function="test.ping"}')["result"]
    assert ping["value"][1] == "1"
    rules = [rule for group in get("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == ALERTS.read_text().count("- alert:") and all(rule["health"] != "err" for rule in rules)


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
