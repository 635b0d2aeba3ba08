#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark: runs cases in turns with their rivals, and writes report.md and figures.json.

bench.py run [CASE ...] runs cases such as `ping 'mem*'`, by default all.
bench.py check compares the last results with the goals. The exit status is 1 if a goal is missed.
bench.py list prints the cases.

BENCH_SECONDS is the length of a round, BENCH_ROUNDS the number of rounds, and BENCH_BUILD the build tree.
"""

import dataclasses
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

import goals
import report
from harness import BUILD, CASES, HERE, ROUNDS, SECONDS, Bench, Figure, chosen

for module in sorted(HERE.glob("*_cases.py")):
    __import__(module.stem)
from support.salts import Unavailable  # noqa: E402

FOLDER = BUILD / "bench"
FIGURES = FOLDER / "figures.json"


def stored():
    """Returns a map from each case to its last run: `when`, `commit`, `rounds` and `figures`."""
    if not FIGURES.exists():
        return {}
    runs = json.loads(FIGURES.read_text())
    for run in runs.values():
        run["figures"] = [Figure(**figure) for figure in run["figures"]]
    return {name: runs[name] for name in CASES if name in runs}


def store(runs):
    FOLDER.mkdir(parents=True, exist_ok=True)
    plain = {name: {**run, "figures": [dataclasses.asdict(figure) for figure in run["figures"]]} for name, run in runs.items()}
    FIGURES.write_text(json.dumps(plain, indent=1))


def commit():
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return asked.stdout.strip() or "no commit"


def figures_of(runs):
    return [figure for run in runs.values() for figure in run["figures"]]


def write_report(runs):
    shown = sorted({f"{run['when'][:10]} of {run['commit']}, {run['rounds']}" for run in runs.values()})
    notes = [f"{os.cpu_count()} processors, Linux {platform.release()}. Measured {'; '.join(shown)}, rivals in turns; medians (least-most).",
             "`others had` is the share of the machine that other programs took."]
    report.write(FOLDER, figures_of(runs), {name: title for name, (title, _) in CASES.items()}, notes)


def run(words):
    failed = []
    for name in chosen(words):
        title, function = CASES[name]
        print(f"{name}: {title}", flush=True)
        try:
            with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as folder, Bench(name, pathlib.Path(folder)) as bench:
                function(bench)
        except Unavailable as reason:
            print(f"  left out: {reason}", flush=True)
            continue
        except Exception as error:
            failed.append(name)
            print(f"  FAILED: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            continue
        runs = stored()
        runs[name] = {"when": time.strftime("%F %T"), "commit": commit(), "rounds": f"{ROUNDS} rounds of {SECONDS:g} s", "figures": bench.figures}
        store(runs)
        write_report(runs)
    print(f"{FOLDER / 'report.md'}")
    return f"failed: {' '.join(failed)}" if failed else None


def check():
    runs = stored()
    if not runs:
        sys.exit("nothing was measured: make bench")
    verdicts = goals.verdicts(figures_of(runs))
    write_report(runs)
    for verdict in verdicts:
        goal = verdict.goal
        limit = f"{'at least' if goal.least else 'at most'} {report.number(goal.limit)}"
        print(f"{verdict.word:<13} {report.number(verdict.value):>8} ({limit:<14}) {goal.text} [{goal.case} {verdict.at}] {verdict.beside}")
    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in ("reached", "falls short", "cannot tell", "not measured")}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    if counts["cannot tell"]:
        print("cannot tell: others had the machine, or rounds differed by more than what is missing")
    return 1 if counts["falls short"] else None


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # at exit, the started programs end
    match sys.argv[1:]:
        case ["run", *words]:
            sys.exit(run(words))
        case ["check"]:
            sys.exit(check())
        case ["list"]:
            for name, (title, _) in CASES.items():
                print(f"{name:<12} {title}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
