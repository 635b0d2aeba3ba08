#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what Salt's own NetapiClient answers to the rows of the behaviour table, in test/vectors/salt-LINE.json.

Installs the newest release of each line, starts a master and minions, and asks each row until it is answered the same
way twice. A row whose answer is another one than before is named.

usage: record_salt.py [--installed] [LINE ...]   --installed takes the newest release that is there already
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["REST_FCGI_NEWEST_SALT"] = "1"
WIRE = pathlib.Path(__file__).resolve().parent / "wire"
sys.path[:0] = [str(WIRE), str(WIRE / "salt_engine")]

import oracle  # noqa: E402
from rows import all_rows  # noqa: E402
from support import salts  # noqa: E402
from support.netapi import Unanswered  # noqa: E402
from support.salt_master import DEAD, Salt  # noqa: E402

AT_ONCE = 4


def ask(salt, row):
    try:
        return oracle.ask(salt, row)
    except Unanswered as problem:
        return problem


def record(line, fresh):
    """Returns whether all rows were answered."""
    folder = salts.installed(line, fresh=fresh)
    home = pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))  # a short path, for unix sockets
    salt = None
    try:
        salt = Salt(folder, home, line)
        salt.accept(DEAD)
        rows = sorted(all_rows(), key=lambda row: not row.slow)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = dict(zip((row.name for row in rows), pool.map(lambda row: ask(salt, row), rows)))
    finally:
        if salt:
            salt.stop()
        shutil.rmtree(home, ignore_errors=True)
    return write(line, salts.release_of(folder), answers)


def write(line, release, answers):
    recording = oracle.Recording(line)
    kept = []
    for row in all_rows():
        answer, before = answers[row.name], recording.before(row)
        if isinstance(answer, Unanswered):
            print(f"{release}: no answer: {answer}")
            answer = before  # what was recorded stays
        elif before not in (None, answer):
            print(f"{release}: another answer: {row.name}")
        if answer:
            kept.append((row, answer))
    recording.write(release, kept)
    print(f"{release}: {len(kept)} rows of {len(answers)} are recorded", flush=True)
    return not any(isinstance(answer, Unanswered) for answer in answers.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("lines", nargs="*", default=salts.LINES)
    options = parser.parse_args()
    return 0 if all([record(line, not options.installed) for line in options.lines]) else 1


if __name__ == "__main__":
    sys.exit(main())
