#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests and prints one line with the sum, `N passed, N failed`. The exit status is 0 only if no test failed.

Unit tests run in parallel parts. If pytest-xdist is installed, pytest runs in several processes, and tests of one file
stay together. Unit tests measure short times, so pytest starts after the unit tests.
REST_FCGI_COUNTS=FILE appends the sums of a run to FILE, and the failures to FILE.failed.

usage: run.py [--unit PROGRAM] [--select EXPRESSION] [--workers N] [PYTEST_PATH ...]
"""

import argparse
import collections
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

DOCTEST_SUMMARY = re.compile(r"\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed \| +(\d+) skipped")
DOCTEST_FAILURE = re.compile(r"^={79}\n(.+?:\d+:\nTEST (?:CASE|SUITE):.+?)(?=^={79}\n)", re.DOTALL | re.MULTILINE)

Count = collections.namedtuple("Count", "passed failed skipped")
CRASH = Count(0, 1, 0)
failures = []  # failures with their output, for the end of the run


def judge(status, count):
    """Returns `count` with one more failure if the runner failed without a failed test."""
    if status != 0 and count.failed == 0:
        return count._replace(failed=1)
    return count


SHARDS = 6  # number of parts of the unit tests
LIMIT = 20 * 60  # seconds for one part of the unit tests
TEST_LIMIT = 10 * 60  # seconds for one pytest test with its fixtures
ORDER = ["--order-by=rand", "--rand-seed=10"]  # the order distributes waiting tests evenly


class Doctest:
    """A program of unit tests that runs in parallel parts."""

    def __init__(self, program):
        self._program = program
        counted = subprocess.run([program, "--count"], capture_output=True, text=True, check=False).stdout
        total = int((re.search(r"passing the current filters: (\d+)", counted) or [0, 0])[1])
        size = total // SHARDS + 1
        firsts = range(1, total + 1, size) or [1]
        self._parts = [self._start(first, min(first + size - 1, total)) for first in firsts]

    def _start(self, first, last):
        output = tempfile.TemporaryFile("w+", errors="replace")
        argv = [self._program, *ORDER, f"--first={first}", f"--last={last}"]
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT), output, last - first + 1

    def counts(self):
        """Waits for all parts and prints their output. In the summary of a part, tests of other parts count as
        skipped."""
        for child, output, size in self._parts:
            try:
                child.wait(LIMIT)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGABRT)  # the signal makes doctest name the test that hangs
                child.wait()
            output.seek(0)
            text = output.read()
            print(text, end="", flush=True)
            failures.extend(DOCTEST_FAILURE.findall(text))
            summary = DOCTEST_SUMMARY.search(text)
            if summary:
                yield judge(child.returncode, Count(size - int(summary[2]), int(summary[2]), 0))
            else:
                failures.append(f"{self._program} ended with exit status {child.returncode} and without a summary\n{text[-2000:]}")
                yield CRASH


def count_junit(report):
    count = CRASH._replace(failed=0)
    root = xml.etree.ElementTree.parse(report).getroot()
    for case in root.iter("testcase"):
        for failure in (*case.iter("failure"), *case.iter("error")):
            failures.append(f"{case.get('classname')}::{case.get('name')}\n{(failure.text or '')[-2000:]}\n")
    for suite in root.iter("testsuite"):
        tests, skipped = int(suite.get("tests")), int(suite.get("skipped"))
        failed = int(suite.get("failures")) + int(suite.get("errors"))
        count = Count(count.passed + max(tests - failed - skipped, 0), count.failed + failed, count.skipped + skipped)
    return count


def side_by_side(workers):
    """Returns options that let pytest use several processes."""
    if workers < 2 or not importlib.util.find_spec("xdist"):
        return []
    return ["-n", str(workers), "--dist", "loadgroup"]


def limited():
    """Returns options that end a hanging test. Long runs have no limit."""
    if {"REST_FCGI_LONG", "SOAK_SECONDS"} & os.environ.keys() or not importlib.util.find_spec("pytest_timeout"):
        return []
    return [f"--timeout={TEST_LIMIT}", "--timeout-method=signal"]


def pytest(paths, select, workers):
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "junit.xml"
        argv = [sys.executable, "-m", "pytest", "-q", "-rfEs", "--tb=short", "-p", "no:cacheprovider"]
        argv += [f"--junitxml={report}", *(["-k", select] if select else []), *side_by_side(workers), *limited(), *paths]
        status = subprocess.call(argv, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if not report.exists():
            failures.append(f"pytest ended with exit status {status} and without a report\n")
            return CRASH
        return judge(status, count_junit(report))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--unit", action="append", default=[])
    parser.add_argument("--select", default="")
    parser.add_argument("--workers", type=int, default=min(2 * (os.cpu_count() or 1), 8))
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    counts = [count for program in options.unit for count in Doctest(program).counts()]
    counts += [pytest(options.paths, options.select, options.workers)] if options.paths else []
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    summary = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    said_again = "".join(f"\nFAILED: {failure}" for failure in failures)
    if "REST_FCGI_COUNTS" in os.environ:
        with open(os.environ["REST_FCGI_COUNTS"], "a") as sums:
            print(passed, failed, skipped, file=sums)
        with open(os.environ["REST_FCGI_COUNTS"] + ".failed", "a") as texts:
            texts.write(said_again)
    print(f"{said_again}\n{summary}" if failures else summary, flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
