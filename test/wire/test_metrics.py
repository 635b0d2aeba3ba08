# SPDX-License-Identifier: MIT
"""Metrics: the listener for Prometheus and what it shows."""

import json
import re

import pytest

from support.api import JSON, Api, local
from support.daemon import merge
from support.process import free_port
from support.rest import api_of, serving

SAMPLE = re.compile(r'^([a-z_]+)(\{.*\})? (\S+)$', re.MULTILINE)


def watched(changes=None, **keys):
    """Returns a configuration with metrics, and the Api of their listener."""
    port = free_port()
    return merge({"rest_fcgi": {"metrics": {"listen": f"127.0.0.1:{port}", **keys}}}, changes or {}), Api("127.0.0.1", port)


def samples(api, accept="text/plain"):
    """Returns a map from each sample, `NAME{LABELS}`, to its value."""
    reply = api.request("GET", "/metrics", headers={"Accept": accept})
    assert reply.status == 200, reply
    return {name + labels: float(value) for name, labels, value in SAMPLE.findall(reply.text)}


@pytest.fixture
def started(start):
    """A responder with rest_cherrypy on its own port. Returns the Api of that port and of the metrics."""
    serves = serving()
    changes, metrics = watched(serves)
    start(changes)
    return api_of(serves), metrics


def test_requests_are_counted_by_module_status_and_client(started):
    api, metrics = started
    for _ in range(3):
        assert api.request("POST", "/run", json.dumps(local("test.ping")), JSON).status == 200
    api.request("GET", "/nosuch")
    found = samples(metrics)
    assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="200",client="local"}'] == 3
    assert found['rest_fcgi_requests_total{module="rest_cherrypy",status="404",client="none"}'] == 1
    assert found['rest_fcgi_request_duration_seconds_count{client="local"}'] == 3
    assert found['rest_fcgi_build_info{version="0.1.0",engine="embedded"}'] == 1
    assert found["process_open_fds"] > 5


def test_openmetrics_is_sent_to_a_client_that_accepts_it(started):
    _, metrics = started
    reply = metrics.request("GET", "/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    assert reply.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert reply.text.endswith("# EOF\n")


def test_the_port_of_the_api_has_no_metrics(started):
    api, metrics = started
    assert api.request("GET", "/metrics").status == 404
    assert metrics.request("POST", "/run", "{}").status == 405
