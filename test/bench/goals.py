# SPDX-License-Identifier: MIT
"""A table of goals, and the check of figures against the table.

A goal for CPU is a ratio to the rival of the same run (a minimal server), for example 24 us against 22 us.
"""

import dataclasses
import fnmatch
import itertools
import math
import statistics

BUSY = 0.10  # largest share of other programs with which rates are valid
BUSY_CPU = 0.35  # the same limit for CPU per request, which caches and clock rates affect
STEADY = ("RSS", "anonymous", "size", "share")  # the load of the machine does not affect these figures


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    case: str
    at: str  # pattern that selects points
    what: str
    measure: str  # one of: ratio, ours, added, growth
    limit: float
    least: bool = False  # the limit is a minimum instead of a maximum

    def value(self, figure):
        return {"ratio": figure.ratio, "added": figure.added if figure.rival else None, "ours": figure.middle}[self.measure]

    def met(self, value):
        return value >= self.limit if self.least else value <= self.limit


GOALS = (
    Goal("pings a second on kept connections against the earlier build", "earlier", "kept*", "rate", "ratio", 0.80, least=True),
    Goal("pings a second, a connection each, against the earlier build", "earlier", "new*", "rate", "ratio", 0.90, least=True),
    Goal("CPU of a ping against the earlier build", "earlier", "*", "CPU", "ratio", 1.35),
    Goal("99th percentile of pings on 64 kept connections against the earlier build", "earlier", "kept*, 64", "99%", "ratio", 1.5),
    Goal("GET / on the HTTP port against Beast", "http", "GET /, *", "rate", "ratio", 0.85, least=True),
    Goal("refused requests a second", "refused", "*", "rate", "ratio", 0.95, least=True),
    Goal("a ping of a list beyond the first, jobs in SQLite", "chunks", "a chunk beyond the first", "CPU, jobs in SQLite", "ours", 2),
    Goal("a ping of a list beyond the first, jobs in memory", "chunks", "a chunk beyond the first", "CPU, jobs in memory", "ours", 2),
    Goal("parsing and checking 1 MB of lowstate", "inner", "lowstate", "speed", "ours", 500, least=True),
    Goal("msgpack to JSON text", "inner", "msgpack", "speed", "ours", 500, least=True),
    Goal("local_async to a real master against bare loops", "salt", "local_async", "rate", "ratio", 0.95, least=True),
    Goal("local, added to the bare loop's time", "salt", "local", "time", "added", 1),
    Goal("slow requests answered", "slow", "answered*", "share", "ours", 1, least=True),
    Goal("99th percentile of pings beside slow requests", "slow", "pings*", "99%", "ratio", 10),
    Goal("memory with slow requests in flight, MiB", "slow", "pings*", "RSS", "ours", 100),
    Goal("anonymous memory at rest with both front ends, MiB", "memory", "at rest, both*", "anonymous", "ours", 4),
    Goal("RSS at rest with both front ends, MiB", "memory", "at rest, both*", "RSS", "ours", 17),
    Goal("start to first answer, ms", "start", "first answer", "time", "ours", 50),
    Goal("bytes in the job database for a ping on five minions", "jobs", "a ping of five minions", "size", "ours", 150),
    Goal("a page of jobs at the most stored against 1,000 stored", "pages", "most against least", "page", "ratio", 1.25),
    Goal("time of a call of a module in a Python that has Salt", "python", "Salt*", "time", "ratio", 2),
    Goal("CPU of a call of a module in a Python that has Salt", "python", "Salt*", "CPU", "ratio", 2),
    *(
        Goal(f"cost grows with {case} no faster than linearly: {what}", case, "", what, "growth", 1.1)
        for case, what in (
            ("minions", "CPU, jobs in SQLite"),
            ("minions", "CPU, jobs in memory"),
            ("chunks", "CPU, jobs in SQLite"),
            ("bodies", "CPU"),
            ("returns", "CPU"),
            ("pages", "newest"),
            ("listeners", "CPU"),
        )
    ),
)


def curves(figures):
    found = {}
    for figure in figures:
        if figure.at.isdigit():
            found.setdefault((figure.case, figure.what), []).append((int(figure.at), figure))
    return {key: sorted(points, key=lambda point: point[0]) for key, points in found.items() if len(points) > 1}


def exponent(points):
    """Returns the steepest growth of cost between two sizes. Linear growth is 1."""
    steps = itertools.pairwise((size, max(figure.middle, 1e-9)) for size, figure in points)
    return max(math.log(y2 / y1) / math.log(x2 / x1) for (x1, y1), (x2, y2) in steps)


@dataclasses.dataclass
class Verdict:
    goal: Goal
    at: str
    value: float
    word: str  # "reached", "falls short", "cannot tell" or "not measured"
    beside: str = ""  # our figure and the rival's figure


def judge(goal, value, busy, spread, at):
    """Returns whether a goal is reached. The result is "cannot tell" if the machine was busy, or if the value misses the
    goal by less than the spread of the rounds."""
    word = "reached" if goal.met(value) else "falls short"
    too_busy = goal.what not in STEADY and busy > (BUSY_CPU if "CPU" in goal.what or goal.what == "speed" else BUSY)
    off = abs(value - goal.limit) / goal.limit if goal.limit else 1
    if too_busy or (word == "falls short" and off < min(spread, 0.5) / 2):
        word = "cannot tell"
    return Verdict(goal, at, value, word)


def verdicts(figures):
    found = []
    for goal in GOALS:
        mine = []
        if goal.measure == "growth":
            points = curves(figures).get((goal.case, goal.what))
            if points:
                busy = statistics.mean(figure.busy for _, figure in points)
                mine.append(judge(goal, exponent(points), busy, 0, f"{points[0][0]} to {points[-1][0]}"))
        else:
            for figure in figures:
                if figure.case != goal.case or figure.what != goal.what or not fnmatch.fnmatch(figure.at, goal.at):
                    continue
                value = goal.value(figure)
                if value is not None:
                    verdict = judge(goal, value, figure.busy, figure.spread, figure.at)
                    mine.append(dataclasses.replace(verdict, beside=figure.beside))
        found += mine or [Verdict(goal, goal.at, math.nan, "not measured")]
    return found
