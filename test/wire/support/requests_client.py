# SPDX-License-Identifier: MIT
"""A session with Python's requests from login to logout, and pepper's evaluation of return codes.

usage: requests_client.py URL, with the Python of foreign_clients.py"""

import sys

import requests
from pepper.retcode import PepperRetcode


def main(url):
    session = requests.Session()
    login = session.post(f"{url}/login", json={"username": "saltdev", "password": "x", "eauth": "file"})
    assert login.status_code == 200 and session.cookies["session_id"] == login.json()["return"][0]["token"]
    ping = [{"client": "local", "tgt": "ms-0", "fun": "test.ping"}]
    for _ in range(5):
        assert session.post(url, json=ping).json() == {"return": [{"ms-0": True}]}
    assert session.get(f"{url}/minions/ms-0").json()["return"][0]["ms-0"]["id"] == "ms-0"
    job = session.post(f"{url}/minions", data={"tgt": "ms-0", "fun": "test.ping"})
    assert job.status_code == 202
    assert session.get(url + job.json()["_links"]["jobs"][0]["href"]).json()["info"][0]["Function"] == "test.ping"
    for fun, failed in (("test.ping", False), ("nosuch.fun", True)):
        full = session.post(url, json=[{**ping[0], "fun": fun, "full_return": True}]).json()["return"]
        assert bool(PepperRetcode.validate_fail_any_none(full)) == bool(PepperRetcode.validate_fail_all(full)) == failed
    assert session.get(f"{url}/nosuch").status_code == 404
    assert session.post(f"{url}/logout").json() == {"return": "Your token has been cleared"}
    assert "session_id" not in session.cookies
    assert session.get(f"{url}/jobs").status_code == 401
    pools = session.get_adapter(url).poolmanager.pools
    print("connections:", *(pools[key].num_connections for key in pools.keys()))


if __name__ == "__main__":
    main(sys.argv[1])
