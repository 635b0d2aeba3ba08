#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Returns a second that the responder stores in a real etcd, beside a bare loop that sends the same transactions, and
beside Salt's own returner.

All are asked in turns, each with an etcd of its own, so that what else the machine does hits all alike. The bare loop
sends what the responder sent in a run before, which a proxy in between wrote down.
Usage: etcd_bench.py BUILD [JOBS [ROUNDS]]
"""

import concurrent.futures
import http.client
import http.server
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wire"))
BUILD = pathlib.Path(sys.argv[1]).resolve()
from support import daemon, salts  # noqa: E402

daemon.BINARY = BUILD / "rest_fcgi"
from support.etcd import Etcd, base64_text, prefix_end  # noqa: E402
from support.jobs import call  # noqa: E402
from support.process import wait_until  # noqa: E402

JOBS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
RETURNS = JOBS * len(daemon.MINIONS)
CLIENTS = 8
SALT_RETURNS = 100  # one takes it tens of milliseconds
JOBS_PREFIX = b"/salt/return/jobs/"
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


class Recorder(http.server.ThreadingHTTPServer):
    """Hands requests on to an etcd, and writes down those that change something."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.etcd, self.written = port, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def save(self, path):
        with open(path, "wb") as file:
            for target, body in self.written:
                file.write(f"{target} {len(body)}\n".encode() + body + b"\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.hand_on(b"")

    def do_POST(self):
        self.hand_on(self.rfile.read(int(self.headers["Content-Length"])))

    def hand_on(self, body):
        if self.path.endswith(("/kv/put", "/kv/txn")):
            self.server.written.append((self.path, body))
        connection = http.client.HTTPConnection("127.0.0.1", self.server.etcd, timeout=30)
        connection.request(self.command, self.path, body)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def stored(etcd):
    """How many keys of jobs there are."""
    asked = {"key": base64_text(JOBS_PREFIX), "range_end": base64_text(prefix_end(JOBS_PREFIX)), "count_only": True}
    return int(etcd.post("kv/range", asked).get("count", 0))


def store(home, etcd, port):
    """Runs all jobs through a responder; seconds until all of it is stored."""
    home.mkdir()
    options = {"master_job_cache": "etcd", "etcd.host": "127.0.0.1", "etcd.port": port, "etcd.require_v2": False}
    responder = daemon.Daemon(home, {**options, "log_level": "warning"})
    try:
        assert call(responder.address, PING)
        wait_until(lambda: stored(etcd) > 0, "the first job is stored")
        time.sleep(0.2)
        each = stored(etcd)
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            assert all(pool.map(lambda _: call(responder.address, PING), range(JOBS)))
        while stored(etcd) < each * (JOBS + 1):
            time.sleep(0.02)
        return time.monotonic() - start
    finally:
        responder.stop()


def replay(etcd, file):
    argv = [BUILD / "bare_etcd", etcd.urls[0], file]
    return float(subprocess.run(map(str, argv), capture_output=True, text=True, check=True).stdout)


def salts_own(home, etcd):
    """Seconds that Salt's own returner takes for some returns, as it does them."""
    home.mkdir()
    jid = "20261120231500123456"
    ret = {"jid": jid, "fun": "test.ping", "fun_args": [], "return": True, "retcode": 0, "success": True, "cmd": "_return"}
    calls = [["returner", {**ret, "id": f"m{number}"}] for number in range(SALT_RETURNS)]
    options = {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": False}
    program = salts.installed(salts.LINES[0]) / "bin/python"

    def seconds(calls):
        request = json.dumps({"root_dir": str(home), "opts": options, "calls": calls})
        start = time.monotonic()
        argv = [program, "-I", "-W", "ignore", salts.ETCD_RETURNER]
        done = subprocess.run(argv, input=request, capture_output=True, text=True, check=True)
        assert all("ret" in outcome for outcome in json.loads(done.stdout)), done.stdout
        return time.monotonic() - start

    return max(seconds(calls) - seconds([]), 1e-6)  # without the time that its Python takes to start


def main():
    with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as folder:
        home = pathlib.Path(folder)
        written = home / "written"
        etcd = Etcd(home / "recorded")
        recorder = Recorder(etcd.port)
        store(home / "r", etcd, recorder.server_address[1])
        recorder.save(written)
        etcd.close()
        ours, bare, salt = [], [], []
        for turn in range(ROUNDS):
            for rates, count, run in (
                (ours, RETURNS, lambda etcd: store(home / f"o{turn}", etcd, etcd.port)),
                (bare, RETURNS, lambda etcd: replay(etcd, written)),
                (salt, SALT_RETURNS, lambda etcd: salts_own(home / f"s{turn}", etcd)),
            ):
                etcd = Etcd(home / f"e{turn}-{len(rates)}-{id(rates)}")
                try:
                    rates.append(count / run(etcd))
                finally:
                    etcd.close()
        print(f"returns stored a second, {RETURNS} of {JOBS} jobs in {len(recorder.written)} requests, median of {ROUNDS}:")
        for name, rates in (("rest_fcgi", ours), ("bare loop", bare), ("Salt's returner", salt)):
            print(f"  {name:<16} {statistics.median(rates):9.0f}   ({min(rates):.0f} to {max(rates):.0f})")
        middle = statistics.median(ours)
        print(f"  ratio to the bare loop: {middle / statistics.median(bare):.2f}, to Salt's: {middle / statistics.median(salt):.0f}")


main()
