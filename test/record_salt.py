#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records Salt's answers to the rows of the tables. The answers of NetapiClient go to test/vectors/salt-SERIES.json,
and the answers of salt-api to rest-SERIES.json.

Installs the newest release of each series, starts a master, minions and salt-api, and sends each row until two answers
are equal. Prints the rows with a changed answer.

usage: record_salt.py [--installed] [SERIES ...]   --installed uses the newest installed release
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
import rest_rows  # noqa: E402
import rows  # noqa: E402
import salt_api  # noqa: E402
from support import salts  # noqa: E402
from support.netapi import Unanswered  # noqa: E402
from support.salt_master import DEAD, Salt  # noqa: E402

AT_ONCE = 4


def all_answers(ask, table):
    """Returns the answers by row name. The answer of a row without an answer is Unanswered."""

    def answer(row):
        try:
            return ask(row)
        except Unanswered as problem:
            return problem

    slow_first = sorted(table, key=lambda row: not row.slow)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip((row.name for row in slow_first), pool.map(answer, slow_first)))


def record(series, fresh):
    """Returns whether all rows were answered."""
    folder = salts.installed(series, fresh=fresh)
    tables = (rows.all_rows, oracle.Recording(series)), (rest_rows.all_rows, salt_api.recording(series))
    home = pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))  # unix sockets need a short path
    salt = api = None
    try:
        salt = Salt(folder, home, series)
        salt.accept(DEAD)
        api = salt_api.SaltApi(salt)
        asks = (lambda row: oracle.ask(salt, row)), (lambda row: salt_api.ask(api.servers, row))
        answers = [all_answers(ask, list(table())) for ask, (table, _) in zip(asks, tables)]
    finally:
        for started in filter(None, (api, salt)):
            started.stop()
        shutil.rmtree(home, ignore_errors=True)
    release = salts.release_of(folder)
    written = [write(release, list(table()), recording, found) for (table, recording), found in zip(tables, answers)]
    return all(written)


def write(release, table, recording, answers):
    kept = []
    for row in table:
        answer, before = answers[row.name], recording.before(row)
        if isinstance(answer, Unanswered):
            print(f"{release}: no answer: {answer}")
            answer = before
        elif before not in (None, answer):
            print(f"{release}: another answer: {row.name}")
        if answer:
            kept.append((row, answer))
    recording.write(release, kept)
    print(f"{recording.path.name}: {len(kept)} rows of {len(answers)} are recorded", flush=True)
    return not any(isinstance(answer, Unanswered) for answer in answers.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("series", nargs="*", default=salts.SERIES)
    options = parser.parse_args()
    return 0 if all([record(series, not options.installed) for series in options.series]) else 1


if __name__ == "__main__":
    sys.exit(main())
