# SPDX-License-Identifier: MIT

import pytest
from rows import local
from support import salts
from support.api import Api
from support.process import TIMEOUT, free_port, wait_until
from support.salt_master import DEAD, MINIONS

FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)


@FIRST_SERIES
def test_jobs_are_counted_and_readiness_follows_the_master(salt, start_engine):
    port = free_port()
    engine = start_engine({"rest_fcgi": {"metrics": {"listen": f"127.0.0.1:{port}"}}})
    metrics = Api("127.0.0.1", port)

    def ready():
        reply = metrics.request("GET", "/ready")
        return reply.status == 200 and reply.json["checks"].keys() >= {"store", "master", "event_bus"}

    wait_until(ready, "the responder is ready")
    # No minion has sent an event since the start.
    text = metrics.request("GET", "/metrics").text
    for minion in (*MINIONS, DEAD):
        assert f'salt_health_last_heartbeat{{minion="{minion}"}} 1' in text
    engine.run(local("test.ping"))
    counter = 'salt_responses_total{minion="ms-0",success="true"} 1'
    wait_until(lambda: counter in metrics.request("GET", "/metrics").text, "the return is counted")
    salt.master.stop()
    try:
        failed = wait_until(lambda: (found := metrics.request("GET", "/ready")).status == 503 and found.json, "ready is 503")
        assert not failed["checks"]["event_bus"]["ok"] or not failed["checks"]["master"]["ok"]
    finally:
        salt.heal()
    wait_until(ready, "the responder is ready again", 3 * TIMEOUT)
