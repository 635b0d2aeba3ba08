# SPDX-License-Identifier: MIT
"""Clients of salt-api that others wrote: pepper, Python's requests, and two for WebSockets, from the Python package index.

They lie beside the Salts of salts.py, in an environment that never changes.

usage: foreign_clients.py   installs it where it is missing
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from support import salts  # noqa: E402

PYTHON_CLIENT = pathlib.Path(__file__).with_name("requests_client.py")  # a program for its Python
STREAM_CLIENT = PYTHON_CLIENT.with_name("stream_client.py")  # likewise
PACKAGES = ["salt-pepper==0.7.6", "requests==2.34.2", "websockets==17.4", "websocket-client==1.9.2"]


@functools.cache
def _installed():
    """The folder of its environment, made where that was not done yet; or salts.Unavailable."""
    base = salts.cache()
    place = base / f"clients-{'-'.join(package.rpartition('=')[2] for package in PACKAGES)}"
    if place.exists():
        return place
    folder = pathlib.Path(tempfile.mkdtemp(prefix=".clients-", dir=base))
    try:
        salts.run(sys.executable, "-m", "venv", folder)
        salts.pip(folder / "bin/python", "install", "--quiet", *PACKAGES)
        folder.chmod(0o755)
        folder.rename(place)
    except OSError as error:
        return place if place.exists() else salts.Unavailable(f"{base}: {error}")  # another run may be quicker
    except salts.Unavailable as reason:
        return reason
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place


def environment():
    """The same. Raises salts.Unavailable."""
    found = _installed()
    if isinstance(found, salts.Unavailable):
        raise found
    return found


def require():
    """The folder; where there is none the test is skipped, or fails with CI=true."""
    import pytest

    try:
        return environment()
    except salts.Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no pepper here: {reason}", pytrace=False)
        pytest.skip(f"no pepper here: {reason}")


class Pepper:
    """Its command line, for one server. `home` is where it keeps its tokens."""

    LOGIN = ("-a", "auto", "--username", "saltdev", "--password", "x")

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
