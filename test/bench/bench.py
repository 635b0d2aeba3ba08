#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests a second of test.ping through nginx, as a ratio to a bare libfcgi responder with a constant reply, and of
jobs kept in SQLite to jobs kept in memory; and how long a page of jobs.list_jobs takes.

All stand behind the same nginx configuration and are asked in turns, so that what else the machine does hits all
alike. Usage: bench.py BUILD [SECONDS [ROUNDS]]
"""

import json
import os
import pathlib
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CONNECTIONS = 8

os.environ["REST_FCGI_BINARY"] = str(BUILD / "rest_fcgi")
sys.path.insert(0, str(HERE.parent / "wire"))

from support import fastcgi  # noqa: E402
from support.daemon import Daemon  # noqa: E402
from support.nginx import Nginx  # noqa: E402
from support.process import Process  # noqa: E402

PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
LOGIN = {"eauth": "file", "username": "saltdev", "password": "saltdev"}
SCRIPT = 'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [==[%s]==]\n'
SUMMARY = '{"return": [{"ms-0": true, "ms-1": true, "ms-2": true}]}'


def start_responder(directory, **changes):
    directory.mkdir()
    password = subprocess.run(["openssl", "passwd", "-6", "saltdev"], capture_output=True, text=True, check=True)
    users = directory / "passwords"
    users.write_text(f"saltdev:{password.stdout}")
    users.chmod(0o600)
    eauth = {"^filename": str(users), "^filetype": "htpasswd", "saltdev": ["test.*", "@jobs"]}
    return Daemon(directory, {"external_auth": {"file": eauth}, "log_level": "warning", **changes})


class Bare:
    def __init__(self, directory):
        directory.mkdir()
        self.address = str(directory / "bare.sock")
        self._process = Process([BUILD / "bare", self.address, "16"], directory / "bare.log", self.address)
        self.pid = self._process.pid

    def stop(self):
        self._process.stop(signal.SIGKILL)  # libfcgi's accept loop takes SIGTERM for nothing in particular

    def status(self, field):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return re.search(rf"^{field}:\s+(\S+)", text, re.MULTILINE)[1]


def load(api, script, connections=CONNECTIONS, seconds=SECONDS):
    """One run of wrk: requests a second, and the median and 99th percentile of the time one took."""
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script, f"http://127.0.0.1:{api.port}/"]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    share = dict(re.findall(r"^ +(\d+%) +(\S+)$", out, re.MULTILINE))
    return rate, share["50%"], share["99%"]


def compare(sample, directory, rivals, script):
    """Asks all in turns and prints a line for each; their medians."""
    fronts = {}
    for name, rival in rivals.items():
        fronts[name] = Nginx(directory / f"{name}-{sample}", [rival.address], sample, http="access_log off;")
        assert fronts[name].post({**LOGIN, **PING}).text == SUMMARY
    runs = {name: [] for name in fronts}
    try:
        for nginx in fronts.values():
            load(nginx, script)  # warm
        for _ in range(ROUNDS):
            for name, nginx in fronts.items():
                runs[name].append(load(nginx, script))
    finally:
        for nginx in fronts.values():
            nginx.stop()
    medians = {}
    for name, rounds in runs.items():
        rate, p50, p99 = sorted(rounds)[len(rounds) // 2]
        medians[name] = statistics.median(run[0] for run in rounds)
        spread = f"{min(run[0] for run in rounds):.0f}-{max(run[0] for run in rounds):.0f}"
        rss = int(rivals[name].status("VmRSS")) / 1024
        print(f"  {name:<10} {medians[name]:8.0f} requests/s ({spread}), median {p50}, 99% {p99}, RSS {rss:.1f} MiB")
    return medians


JOBS = 100_000
PAGE = 100
MORE_JOBS = f"""
    WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < {JOBS})
    INSERT OR IGNORE INTO job SELECT jid - n * 1000, saved, fun, arg, tgt, tgt_type, user, metadata, minions, returns
    FROM (SELECT * FROM job LIMIT 1), numbers"""


def list_jobs(daemon, **kwargs):
    """Jobs, oldest first, and how many milliseconds that took."""
    chunk = {**LOGIN, "client": "runner", "fun": "jobs.list_jobs", "kwarg": kwargs}
    request = fastcgi.request(json.dumps([chunk]).encode())
    begin = time.monotonic()
    answer = fastcgi.talk(daemon.address, request)
    milliseconds = (time.monotonic() - begin) * 1000
    return json.loads(answer.body)["return"][0], milliseconds


def measure_pages(daemon):
    """Pages from the newest jobs, and on through all from the oldest ones, among many."""
    with sqlite3.connect(daemon.directory / "cache/rest_fcgi/jobs.db") as connection:
        connection.execute(MORE_JOBS)
        (jobs,) = connection.execute("SELECT count(*) FROM job").fetchone()
    newest = [list_jobs(daemon, limit=PAGE)[1] for _ in range(50)]
    pages, after = [], "2000"
    while len(pages) < 200:
        page, milliseconds = list_jobs(daemon, limit=PAGE, after=after.ljust(20, "0"))
        pages.append(milliseconds)
        after = max(page)
    print(f"jobs.list_jobs, {PAGE} of {jobs} jobs a page")
    for name, times in (("newest", newest), ("in order", pages)):
        print(f"  {name:<10} median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms")


def main():
    with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as scratch:
        directory = pathlib.Path(scratch)
        script = directory / "ping.lua"
        script.write_text(SCRIPT % json.dumps([{**LOGIN, **PING}]))
        rivals = {
            "bare": Bare(directory / "bare"),
            "rest_fcgi": start_responder(directory / "rest_fcgi"),
            "memory": start_responder(directory / "memory", master_job_cache="memory"),
        }
        try:
            print(f"{CONNECTIONS} connections, {ROUNDS} runs of {SECONDS} s each, in turns")
            for sample in ("unix.conf", "unix_keepalive.conf"):
                print(f"nginx/{sample}")
                medians = compare(sample, directory, rivals, script)
                print(f"  rest_fcgi / bare = {medians['rest_fcgi'] / medians['bare']:.2f}")
                print(f"  with jobs in SQLite / in memory = {medians['rest_fcgi'] / medians['memory']:.2f}")
            measure_pages(rivals["rest_fcgi"])
        finally:
            for rival in rivals.values():
                rival.stop()


if __name__ == "__main__":
    main()
