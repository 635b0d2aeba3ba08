# SPDX-License-Identifier: MIT
"""Installs published clients of salt-api from the Python package index.

The environment of the clients lies beside the Salts of salts.py.

usage: foreign_clients.py"""

import functools
import json
import os
import pathlib
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from support import salts  # noqa: E402

STREAM_CLIENT = pathlib.Path(__file__).with_name("stream_client.py")
PACKAGES = ["salt-pepper==0.7.6", "setuptools==80.9.0", "requests==2.34.2", "websockets==17.4", "websocket-client==1.9.2", "ws4py==0.6.0"]


def _fill(folder):
    salts.run(sys.executable, "-m", "venv", folder)
    salts.pip(folder / "bin/python", "install", "--quiet", *PACKAGES)


@functools.cache
def _installed():
    return salts.found("-".join(["clients", *(package.rpartition("=")[2] for package in PACKAGES)]), _fill)


def environment():
    """Returns the folder of the environment. Creates the environment if it is missing. Raises salts.Unavailable."""
    return salts.there(_installed())


def require():
    """Returns the folder of the environment. Skips the test if the environment is not available."""
    return salts.required("pepper", environment)


class Pepper:
    """The command line of pepper for one server. The folder `home` holds pepper's tokens."""

    LOGIN = ("-a", "file", "--username", "saltdev", "--password", "x")

    def __init__(self, url, home):
        self._folder, self._url, self.home = require(), url, home

    def __call__(self, *words, login=LOGIN):
        """Runs pepper. Returns the ended process and its output as JSON."""
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
