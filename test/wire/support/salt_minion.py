# SPDX-License-Identifier: MIT
"""Execution functions of a real minion without a master."""

import json
import os
import subprocess
import tempfile

from .salts import CALLS, TIMEOUT


def first_line_if_text(value):
    """Returns the exception of a traceback, because the other lines name other files."""
    if not isinstance(value, str):
        return value
    words, traceback, lines = value.partition(" Traceback (most recent call last):\n")
    return f"{words} {lines.rstrip().splitlines()[-1]}" if traceback else value.split("\n")[0]


def run(python, minion, pillar, calls, extension_modules=None):
    """Runs `calls`, a list of (fun, args, kwargs), on a real minion. Returns a map for each call.
    The map has "ret", "raised" with the text of an exception, or "missing" for an unknown function."""
    with tempfile.TemporaryDirectory() as root:
        own = str(extension_modules) if extension_modules else None
        request = {"id": minion, "pillar": pillar, "root_dir": root, "extension_modules": own, "calls": calls}
        done = subprocess.run(
            [python, "-W", "ignore", CALLS],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
