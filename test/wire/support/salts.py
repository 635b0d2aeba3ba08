# SPDX-License-Identifier: MIT
"""Real Salts, each line of releases in an environment of its own below build/salt, from the Python package index.

They are kept: an index is asked once a line. All tests that need a Salt get it here.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from .daemon import ROOT

LINES = ("3006", "3007", "3008")
FOLDER = ROOT / "build/salt"
CALLS, EVENTS, NETAPI, ETCD_RETURNER = (  # programs for Salt's own Python
    pathlib.Path(__file__).with_name(f"salt_{name}.py") for name in ("calls", "events", "netapi", "etcd_returner")
)
# What Salt's etcd returner asks for, in the first line alone; the newest one has no such returner any more.
MORE = {LINES[0]: ["etcd3-py", "python-etcd"]}
PATIENCE = 600  # seconds; an index may be slow


class Unavailable(Exception):
    """Why there is no such Salt."""


_missing = {}  # line: Unavailable


def _run(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Unavailable(f"{' '.join(map(str, argv[1:4]))}: {last[0]}")


def _install(line, folder):
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", folder)
    # Where an index lacks what the newest release asks for, pip takes the release before.
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    _run(*pip, *_wanted(line))
    (folder / "complete").write_text(" ".join(_wanted(line)))


def _wanted(line):
    return [f"salt=={line}.*", *MORE.get(line, [])]


def _complete(line, folder):
    """Was all that is wanted now installed there?"""
    mark = folder / "complete"
    return mark.exists() and mark.read_text() == " ".join(_wanted(line))


def installed(line):
    """The folder of that line's environment; makes it where that was not done yet. Raises Unavailable."""
    if line in _missing:
        raise _missing[line]
    folder = FOLDER / line
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{line}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of the tests may be at it
        if not _complete(line, folder):
            try:
                _install(line, folder)
            except Unavailable as reason:
                _missing[line] = reason  # asked once: it takes seconds
                raise
    return folder


def require(line):
    """The same; where there is none the test is skipped, or fails with CI=true."""
    try:
        return installed(line)
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Salt {line} here: {reason}", pytrace=False)
        pytest.skip(f"no Salt here: {reason}")
