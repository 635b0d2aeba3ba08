# SPDX-License-Identifier: MIT
"""Requests: pings, refusals, and growth with chunks, bodies, returns and minions."""

import json
import os

from harness import LOGIN, PING, ROUNDS, Request, case, load
from support.api import JSON, Api
from support.nginx import Nginx
from support.process import free_port

CROWDS = (1, 8, 64, 256)
WAYS = {"new": "unix", "kept": "unix_keepalive"}  # `WAYS` names the ways in which nginx connects.
CACHES = {"CPU, jobs in SQLite": {}, "CPU, jobs in memory": {"master_job_cache": "memory"}}
THREADS = 320  # `THREADS` is enough for the minimal FastCGI server, which needs a thread for each kept connection.


def bare(bench):
    address = str(bench.folder("socket") / "bare.sock")
    rival = bench.program("bare", address, THREADS, address=address)
    rival.address = address
    return rival


def behind_nginx(bench, rival, way):
    return bench.ends(Nginx(bench.folder("nginx"), [rival.address], WAYS[way], http="access_log off;"))


def against(bench, name, other, request, crowds):
    """Sends the same request to ours and to a rival, each behind its own nginx."""
    ours = bench.responder()
    for way in WAYS:
        fronts = {"ours": behind_nginx(bench, ours, way), name: behind_nginx(bench, other, way)}
        request.reply(fronts["ours"])
        accepted = Request(request.method, request.path, request.body, request.headers)
        for crowd in crowds:
            bench.in_turns(
                f"{way} connections, {crowd}",
                {
                    "ours": lambda: load(fronts["ours"], [ours.pid], request, crowd),
                    name: lambda: load(fronts[name], [other.pid], accepted, crowd),
                },
            )


def against_bare(bench, request, crowds):
    against(bench, "libfcgi", bare(bench), request, crowds)


@case("ping", "An embedded ping of five minions with everything on, against a bare libfcgi responder behind the same nginx")
def ping(bench):
    against_bare(bench, Request(body=[{**LOGIN, **PING}]), CROWDS)


@case("earlier", "The same ping against the earlier build that BENCH_AGAINST names")
def ping_of_an_earlier_build(bench):
    binary = os.environ.get("BENCH_AGAINST")
    if binary:
        against(bench, "earlier", bench.responder(binary=binary), Request(body=[{**LOGIN, **PING}]), (8, 64))
    else:
        print(f"  {bench.name:<10} SKIPPED: BENCH_AGAINST names no earlier rest_fcgi")


def with_http(bench, streams=None):
    port = free_port()
    section = {"port": port, "host": "127.0.0.1", "disable_ssl": True}
    ours = bench.responder(rest_fcgi={"netapi": ["rest_cherrypy"], **(streams or {})}, rest_cherrypy=section)
    ours.http = Api("127.0.0.1", port)
    return ours


def token_of(ours):
    return ours.http.request("POST", "/login", json.dumps(LOGIN), JSON).ret[0]["token"]


def bare_http(bench, body):
    port = free_port()
    rival = bench.program("bare_http", port, body, address=("127.0.0.1", port))
    rival.http = Api("127.0.0.1", port)
    return rival


@case("http", "The HTTP port, against a bare Boost.Beast server that gives the same bytes")
def http(bench):
    ours = with_http(bench)
    requests = {"GET /": Request("GET"), "POST /run": Request("POST", "/run", [{**PING, "token": token_of(ours)}])}
    for name, request in requests.items():
        rival = bare_http(bench, request.reply(ours.http))
        for crowd in CROWDS:
            bench.in_turns(
                f"{name}, {crowd}",
                {"ours": lambda: load(ours.http, [ours.pid], request, crowd), "Beast": lambda: load(rival.http, [rival.pid], request, crowd)},
            )


@case("refused", "Requests that are refused, against the bare responder")
def refused(bench):
    against_bare(bench, Request(body=[PING], status=401), (8, 64))


def growth(bench, name, points, ours_of, request_of, connections=8):
    """Measures the CPU of a request at several sizes. The sizes take turns, so that the load of the machine affects all
    sizes."""
    servers = {size: ours_of(size) for size in points}
    fronts = {}
    for ours in servers.values():
        if id(ours) not in fronts:
            fronts[id(ours)] = behind_nginx(bench, ours, "kept")
    requests = {size: request_of(size) for size in points}
    micros = {size: [] for size in points}
    for turn in range(ROUNDS + 1):
        for size, ours in servers.items():
            run = load(fronts[id(ours)], [ours.pid], requests[size], connections)
            if turn > 0:
                micros[size].append(run["CPU"])
    for size in points:
        bench.add(size, name, micros[size], unit="us")
    return micros


@case("chunks", "A list of pings in one request: CPU of a request, and of a chunk beyond the first")
def chunks(bench):
    for name, changes in CACHES.items():
        ours = bench.responder(**changes)
        micros = growth(bench, name, (1, 10, 100), lambda _: ours, lambda size: Request(body=[{**LOGIN, **PING}] * size))
        bench.add("a chunk beyond the first", name, [(many - one) / 99 for one, many in zip(micros[1], micros[100])], unit="us")


@case("bodies", "Bodies of 100 bytes to 1 MB: a ping with a long argument that is looked at and thrown away")
def bodies(bench):
    ours = bench.responder(minions=1, master_job_cache="memory")

    def request(size):
        fill = {**LOGIN, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
        return Request(body=json.dumps([fill])[:-1].ljust(size - 1) + "]" if size < 200 else [{**fill, "fun": "test.arg_type", "arg": ["x" * (size - 150)]}])

    growth(bench, "CPU", (100, 1000, 10_000, 100_000, 1_000_000), lambda _: ours, request)


@case("returns", "Returns of 100 bytes to 10 MB from ten minions")
def returns(bench):
    ours = bench.responder(minions=10, master_job_cache="memory")
    growth(
        bench,
        "CPU",
        (100, 1000, 10_000, 100_000, 1_000_000, 10_000_000),
        lambda _: ours,
        lambda size: Request(body=[{**LOGIN, **PING, "fun": "test.echo", "arg": ["x" * (size // 10)]}]),
    )


@case("minions", "5 to 5,000 embedded minions in one target")
def minions(bench):
    sizes = (5, 50, 500, 5000)
    for name, changes in CACHES.items():
        servers = {size: bench.responder(minions=size, **changes) for size in sizes}
        growth(bench, name, sizes, servers.get, lambda _: Request(body=[{**LOGIN, **PING}]))
