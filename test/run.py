#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests and sums them up in one line, `N passed, N failed`. Exit status 0 only if none failed.

usage: run.py [--unit PROGRAM] [--select EXPRESSION] [PYTEST_PATH ...]
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

DOCTEST_SUMMARY = re.compile(r"\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed \| +(\d+) skipped")

Count = collections.namedtuple("Count", "passed failed skipped")
CRASH = Count(0, 1, 0)


def judge(status, count):
    """`count`, and one failure more where a runner says that something failed and no test says what."""
    if status != 0 and count.failed == 0:
        return count._replace(failed=1)
    return count


def doctest(program):
    """Runs doctest's cases. Their summary is the last thing that a run without a crash prints."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, errors="replace") as child:
        summary = None
        for line in child.stdout:
            print(line, end="", flush=True)
            summary = DOCTEST_SUMMARY.search(line) or summary
    if not summary:
        print(f"{program} ended with {child.returncode} and without a summary")
        return CRASH
    # doctest skips what a filter leaves out, and there is none.
    return judge(child.returncode, Count(int(summary[1]), int(summary[2]), 0))


def count_junit(report):
    """The tests in pytest's JUnit report."""
    count = CRASH._replace(failed=0)
    for suite in xml.etree.ElementTree.parse(report).getroot().iter("testsuite"):
        tests, skipped = int(suite.get("tests")), int(suite.get("skipped"))
        failed = int(suite.get("failures")) + int(suite.get("errors"))
        count = Count(count.passed + max(tests - failed - skipped, 0), count.failed + failed, count.skipped + skipped)
    return count


def pytest(paths, select):
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "junit.xml"
        argv = [sys.executable, "-m", "pytest", "-q", "-rfEs", "--tb=short", "-p", "no:cacheprovider"]
        argv += [f"--junitxml={report}", *(["-k", select] if select else []), *paths]
        status = subprocess.call(argv, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if not report.exists():
            print(f"pytest ended with {status} and without a report")
            return CRASH
        return judge(status, count_junit(report))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--unit", action="append", default=[])
    parser.add_argument("--select", default="")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    counts = [doctest(program) for program in options.unit]
    if options.paths:
        counts.append(pytest(options.paths, options.select))
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
