# SPDX-License-Identifier: MIT
"""Jobs: their size in SQLite, and pages of jobs.list_jobs."""

import json
import shutil
import sqlite3
import time

from harness import LOGIN, PING, ROUNDS, Request, case, cpu, load
from request_cases import behind_nginx
from support import fastcgi
from support.process import wait_until

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
    """Returns the CPU microseconds per job when SQLite alone inserts the rows in groups."""
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

    cost()
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
    body = json.dumps([{**LOGIN, "client": "runner", "fun": "jobs.list_jobs", "kwarg": {"limit": PAGE, **kwargs}}]).encode()

    def cost(count=10):
        used = cpu([responder.pid])
        for _ in range(count):
            assert len(ask(responder, body)[0]) == PAGE
        return (cpu([responder.pid]) - used) / count * 1e6

    cost()  # the first call is a warm-up
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
