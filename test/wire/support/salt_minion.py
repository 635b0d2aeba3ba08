# SPDX-License-Identifier: MIT
"""A real Salt to compare with, installed from the Python index into an environment in the build folder."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from .daemon import BINARY

WANTED = "salt==3006.*"
CALLS = pathlib.Path(__file__).with_name("salt_calls.py")
PATIENCE = 600  # seconds; an index may be slow


class Unavailable(Exception):
    """Why there is no Salt to compare with."""


def _run(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Unavailable(f"{' '.join(map(str, argv[1:4]))}: {last[0]}")


def installed():
    """The Python that has Salt; installs it where that was not done yet. Raises Unavailable."""
    for build in (BINARY.parent, BINARY.parent.parent):  # builds with sanitizers lie in the build folder
        if (build / "salt/complete").exists():
            return build / "salt/bin/python"
    folder = BINARY.parent / "salt"
    python = folder / "bin/python"
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", folder)
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WANTED)
    (folder / "complete").touch()
    return python


def run(python, minion, pillar, calls):
    """What a minion of that id and pillar returns for each of `calls`, (fun, args, kwargs): {"ret": value}, and
    "raised" where that is the text of an exception; {"missing": true} where it has no such function."""
    with tempfile.TemporaryDirectory() as root:
        request = {"id": minion, "pillar": pillar, "root_dir": root, "calls": calls}
        done = subprocess.run(
            [python, "-W", "ignore", CALLS],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
