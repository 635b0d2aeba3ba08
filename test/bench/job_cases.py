# SPDX-License-Identifier: MIT
"""Jobs: their size in SQLite, the rate of stored jobs with a real etcd, and pages of jobs.list_jobs."""

import concurrent.futures
import http.client
import http.server
import json
import shutil
import sqlite3
import subprocess
import threading
import time

from harness import BUILD, LOGIN, PING, ROUNDS, Request, case, cpu, load
from request_cases import behind_nginx
from support import fastcgi, salts
from support.etcd import ETCD, Etcd, base64_text, prefix_end
from support.process import wait_until

CLIENTS = 8
JOBS = 500
MINIONS = 3
SALT_RETURNS = 100  # one takes tens of milliseconds
JOBS_PREFIX = b"/salt/return/jobs/"
PING_BODY = json.dumps([{**LOGIN, **PING}]).encode()
PAGE = 100
SIZES = (1000, 10_000, 100_000, 1_000_000)
MORE_JOBS = """
    WITH RECURSIVE numbers (n) AS (VALUES ({size} - 1) UNION ALL SELECT n - 1 FROM numbers WHERE n > 1)
    INSERT OR IGNORE INTO job SELECT jid - n * 1000, saved, fun, arg, tgt, tgt_type, user, metadata, minions, returns
    FROM (SELECT * FROM job ORDER BY jid LIMIT 1), numbers"""


def ask(responder, body=PING_BODY):
    answer = fastcgi.talk(responder.address, fastcgi.request(body))
    assert answer.ended and answer.status == 200, answer.body
    return json.loads(answer.body)["return"]


def database(responder):
    return responder.directory / "cache/rest_fcgi/state.db"


def bare_rows(path, count=20_000, group=100):
    """Returns the CPU microseconds per job of SQLite alone, which inserts the rows of one job in groups."""
    with sqlite3.connect(path) as connection:
        (first,) = connection.execute("SELECT min(jid) FROM job").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(job)")][1:]
        values = connection.execute(f"SELECT {', '.join(columns)} FROM job WHERE jid = ?", (first,)).fetchone()
        insert = f"INSERT INTO job (jid, {', '.join(columns)}) VALUES ({', '.join('?' * (len(columns) + 1))})"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    began = time.process_time()
    for start in range(0, count, group):
        connection.execute("BEGIN")
        connection.executemany(insert, [(first - count + start + number, *values) for number in range(group)])
        connection.execute("COMMIT")
    took = (time.process_time() - began) / count * 1e6
    connection.close()
    return took


@case("jobs", "A ping of five minions in the job database: its bytes, and its CPU against the same rows from a bare loop")
def jobs(bench):
    with_sqlite, without, request = bench.responder(), bench.responder(master_job_cache="memory"), Request(body=PING_BODY.decode())
    fronts = [(behind_nginx(bench, ours, "kept"), ours) for ours in (with_sqlite, without)]

    def cost():
        kept, forgotten = (load(front, [ours.pid], request, 8)["CPU"] for front, ours in fronts)
        return {"CPU": kept - forgotten}

    cost()  # stores a job
    copy = bench.folder("copy") / "state.db"
    with sqlite3.connect(database(with_sqlite)) as connection, sqlite3.connect(copy) as other:
        connection.backup(other)
    bench.in_turns("one job, with less without", {"ours": cost, "bare rows": lambda: {"CPU": bare_rows(shutil.copy(copy, bench.folder("rows")))}}, keep=("CPU",))
    with_sqlite.stop()
    with sqlite3.connect(database(with_sqlite)) as connection:
        connection.execute("VACUUM")
        count = connection.execute("SELECT count(*) FROM job").fetchone()[0]
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    bench.add("a ping of five minions", "size", [pages * size / count], unit="bytes")


def page_costs(responder, **kwargs):
    """Returns the CPU microseconds per page."""
    body = json.dumps([{**LOGIN, "client": "runner", "fun": "jobs.list_jobs", "kwarg": {"limit": PAGE, **kwargs}}]).encode()

    def cost(count=10):
        used = cpu([responder.pid])
        for _ in range(count):
            assert len(ask(responder, body)[0]) == PAGE
        return (cpu([responder.pid]) - used) / count * 1e6

    cost()  # warm-up
    return [cost() for _ in range(ROUNDS)]


@case("pages", "CPU for a page of 100 jobs of jobs.list_jobs where 10^3 to 10^6 jobs are stored")
def pages(bench):
    newest = {}
    for size in SIZES:
        ours = bench.responder()
        ask(ours)
        connection = sqlite3.connect(database(ours), isolation_level=None)
        wait_until(lambda: connection.execute("SELECT count(*) FROM job").fetchone()[0], "the first job is stored")
        connection.execute(MORE_JOBS.format(size=size))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        newest[size] = page_costs(ours)
        bench.add(size, "newest", newest[size], unit="us")
        bench.add(size, "oldest", page_costs(ours, after="2000".ljust(20, "0")), unit="us")
        ours.stop()
    bench.add("most against least", "page", newest[SIZES[-1]], newest[SIZES[0]], f"{SIZES[0]} stored", unit="us")


class Recorder(http.server.ThreadingHTTPServer):
    """Forwards requests to an etcd and records those that write."""

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
    """Returns the number of keys of jobs."""
    asked = {"key": base64_text(JOBS_PREFIX), "range_end": base64_text(prefix_end(JOBS_PREFIX)), "count_only": True}
    return int(etcd.post("kv/range", asked).get("count", 0))


def store(bench, etcd, port):
    """Runs all jobs through a responder until all are stored. Returns the rate."""
    options = {"master_job_cache": "etcd", "etcd.host": "127.0.0.1", "etcd.port": port, "etcd.require_v2": False}
    ours = bench.responder(minions=MINIONS, **options)
    ask(ours)
    wait_until(lambda: stored(etcd) > 0, "the first job is stored")
    time.sleep(0.2)
    each, began = stored(etcd), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda _: ask(ours), range(JOBS)))
    while stored(etcd) < each * (JOBS + 1):
        time.sleep(0.02)
    took = time.monotonic() - began
    ours.stop()
    return JOBS * MINIONS / took


def replay(etcd, file):
    argv = [BUILD / "bare_etcd", etcd.urls[0], file]
    return JOBS * MINIONS / float(subprocess.run(map(str, argv), capture_output=True, text=True, check=True).stdout)


def salts_own(home, etcd):
    """Returns the rate of Salt's own returner, without the start of its Python."""
    ret = {"jid": "20261120231500123456", "fun": "test.ping", "fun_args": [], "return": True, "retcode": 0, "success": True, "cmd": "_return"}
    calls = [["returner", {**ret, "id": f"m{number}"}] for number in range(SALT_RETURNS)]
    options = {"etcd.host": "127.0.0.1", "etcd.port": etcd.port, "etcd.require_v2": False}
    program = salts.installed(salts.LINES[0]) / "bin/python"

    def seconds(calls):
        request = json.dumps({"root_dir": str(home), "opts": options, "calls": calls})
        began = time.monotonic()
        argv = [program, "-I", "-W", "ignore", salts.ETCD_RETURNER]
        done = subprocess.run(argv, input=request, capture_output=True, text=True, check=True)
        assert all("ret" in outcome for outcome in json.loads(done.stdout)), done.stdout
        return time.monotonic() - began

    return SALT_RETURNS / max(seconds(calls) - seconds([]), 1e-6)


@case("etcd", "Returns stored a second in a real etcd, against a bare loop of the same transactions, and against Salt's returner")
def etcd(bench):
    if not ETCD:
        raise salts.Unavailable("there is no etcd here")

    def with_etcd(run):
        etcd = Etcd(bench.folder("etcd"))
        try:
            return {"rate": run(etcd)}
        finally:
            etcd.close()

    written = bench.folder("written") / "requests"

    def record(etcd):
        recorder = Recorder(etcd.port)
        store(bench, etcd, recorder.server_address[1])
        recorder.save(written)

    with_etcd(record)
    ours = lambda: with_etcd(lambda etcd: store(bench, etcd, etcd.port))  # noqa: E731
    bench.in_turns("returns", {"ours": ours, "bare loop": lambda: with_etcd(lambda etcd: replay(etcd, written))}, rounds=min(ROUNDS, 3), keep=("rate",))
    theirs = lambda: with_etcd(lambda etcd: salts_own(bench.folder("salt"), etcd))  # noqa: E731
    bench.in_turns("returns beside Salt's", {"ours": ours, "Salt's returner": theirs}, rounds=min(ROUNDS, 2), keep=("rate",))
