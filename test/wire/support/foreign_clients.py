# SPDX-License-Identifier: MIT
"""Clients of salt-api that others wrote: pepper, Python's requests, and two for WebSockets, from the Python package index.

They lie beside the Salts of salts.py, in an environment that never changes.

usage: foreign_clients.py   installs it where it is missing
"""

import functools
import json
import os
import pathlib
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from support import salts  # noqa: E402

PYTHON_CLIENT = pathlib.Path(__file__).with_name("requests_client.py")  # a program for its Python
STREAM_CLIENT = PYTHON_CLIENT.with_name("stream_client.py")  # likewise
PACKAGES = ["salt-pepper==0.7.6", "requests==2.34.2", "websockets==17.4", "websocket-client==1.9.2"]


def _fill(folder):
    salts.run(sys.executable, "-m", "venv", folder)
    salts.pip(folder / "bin/python", "install", "--quiet", *PACKAGES)


@functools.cache
def _installed():
    try:
        return salts.made("-".join(["clients", *(package.rpartition("=")[2] for package in PACKAGES)]), _fill)
    except salts.Unavailable as reason:
        return reason  # asked once: it takes seconds


def environment():
    """The folder of their environment, made where that was not done yet. Raises salts.Unavailable."""
    found = _installed()
    if isinstance(found, salts.Unavailable):
        raise found
    return found


def require():
    """The folder; where there is none the test is skipped, or fails with CI=true."""
    return salts.required("pepper", environment)


class Pepper:
    """Its command line, for one server. `home` is where it keeps its tokens."""

    LOGIN = ("-a", "file", "--username", "saltdev", "--password", "x")

    def __init__(self, url, home):
        self._folder, self._url, self.home = require(), url, home

    def __call__(self, *words, login=LOGIN):
        """The process when it has ended; `returned` is what it printed, read as JSON."""
        argv = [self._folder / "bin/python", self._folder / "bin/pepper", "-u", self._url, *login, *words]
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, env=environ, check=False)

    def returned(self, *words, **options):
        done = self(*words, **options)
        assert done.returncode == 0, done
        return json.loads(done.stdout)["return"]


if __name__ == "__main__":
    try:
        print(f"  PEPPER  {environment()}", flush=True)
    except salts.Unavailable as reason:
        print(f"  PEPPER  there is none here: {reason}", flush=True)
