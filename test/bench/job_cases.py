# SPDX-License-Identifier: MIT
"""Jobs: their size in SQLite, and pages of jobs.list_jobs."""

import json
import sqlite3

from harness import LOGIN, PING, ROUNDS, SECONDS, Request, case, cpu, load
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


@case("jobs", "The bytes of a ping of five minions in the job database")
def jobs(bench):
    ours = bench.responder()
    load(behind_nginx(bench, ours, "kept"), [ours.pid], Request(body=PING_BODY.decode()), 8, 10 * SECONDS)
    ours.stop()
    with sqlite3.connect(database(ours)) as connection:
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
