# SPDX-License-Identifier: MIT
"""Real Salts, with what their salt-api needs, from the Python package index, an environment a release, shared by all clones of a user.

They lie in ${XDG_CACHE_HOME:-~/.cache}/rest_fcgi/api-RELEASE and never change there: each is made beside its place and
gets its name when it is complete. All tests that need a Salt get it here. What is installed is the release that
test/vectors has answers of; with REST_FCGI_NEWEST_SALT=1 it is the newest of its series that is there.

usage: salts.py LINE ...   installs what is missing, or what is newer with REST_FCGI_NEWEST_SALT=1
"""

import contextlib
import fcntl
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
SERIES = ("3006", "3007", "3008")
VECTORS = TOP / "test/vectors"
CALLS, EVENTS, FIRE, NETAPI, RULES, ETCD_RETURNER = (  # programs for Salt's own Python
    pathlib.Path(__file__).with_name(f"salt_{name}.py") for name in ("calls", "events", "fire", "netapi", "rules", "etcd_returner")
)
# What salt-api's rest_cherrypy asks for, and Salt's etcd returner, which the newest series has no more.
API = ["cherrypy"]
MORE = {series: API for series in SERIES} | {SERIES[0]: [*API, "etcd3-py", "python-etcd"]}
WS4PY = "ws4py==0.6.0"  # without it rest_cherrypy of salt-api has no WebSockets
HYPOTHESIS = "hypothesis==6.140.2"  # asks Salt about random rules; in a folder of its own, so that Salt's stays what it is
PATIENCE = 1200  # seconds; an index may be slow
NEWEST = bool(os.environ.get("REST_FCGI_NEWEST_SALT"))


class Unavailable(Exception):
    """Why there is no such Salt."""


_found = {}  # series: its folder, or Unavailable


def recorded(series):
    """The release that the recorded answers of a series are of; None without a recording."""
    path = VECTORS / f"salt-{series}.json"
    return json.loads(path.read_text())["salt"] if path.exists() else None


def cache():
    """The folder of all Salts. One in which somebody else could put programs is not used, and neither is one that is
    closed to us, as after a `sudo make test`: then it is a folder of the build."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rest_fcgi"
    with contextlib.suppress(OSError, RuntimeError):
        base.mkdir(parents=True, exist_ok=True)
        if _is_ours(base) and os.access(base, os.W_OK | os.X_OK):
            return base
    base = TOP / "build/salt"
    base.mkdir(parents=True, exist_ok=True)
    return base


def _is_ours(path):
    about = path.stat()
    return about.st_uid == os.geteuid() and not about.st_mode & 0o002


def run(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Unavailable(f"{' '.join(map(str, argv[1:4]))}: {last[0]}")
    return done.stdout


def pip(python, *words):
    return run(python, "-m", "pip", *words, "--disable-pip-version-check", "--retries", "2")


def made(name, fill):
    """The folder of that name beside the Salts, which never changes; where it is not there `fill` gets a new one, which has
    the name when it is complete. Raises Unavailable."""
    base = cache()
    place = base / name
    if place.exists():
        return place
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}-", dir=base))
    try:
        fill(folder)
        folder.chmod(0o755)
        folder.rename(place)
    except OSError as error:
        if not place.exists():  # another run may be quicker
            raise Unavailable(f"{base}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place


def _complete(folder, series):
    """Was all that is wanted now installed there, and by us?"""
    mark = folder / "complete"
    return mark.exists() and _is_ours(folder) and mark.read_text().split() == ["salt", *MORE[series]]


def _present(base, series, release):
    """What is there of it: the release itself, or the newest of the series."""
    found = [path for path in base.glob(f"api-{release or f'{series}.*'}") if _complete(path, series)]
    return max(found, key=lambda path: int(path.name.rpartition(".")[2]), default=None)


def _install(base, series, release):
    """Makes an environment beside its place, and moves it there."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{series}-", dir=base))
    try:
        folder.chmod(0o755)
        run(sys.executable, "-m", "venv", folder)
        python = folder / "bin/python"
        # Where an index lacks what the newest release asks for, pip takes the release before.
        wanted = f"salt=={release or f'{series}.*'}"
        pip(python, "install", "--quiet", wanted, *MORE[series])
        installed = run(python, "-c", "from importlib import metadata; print(metadata.version('salt'))").strip()
        (folder / "complete").write_text(" ".join(["salt", *MORE[series]]))
        place = base / f"api-{installed}"
        if not (place.exists() and _complete(place, series)):
            shutil.rmtree(place, ignore_errors=True)
            folder.rename(place)
        return place
    except OSError as error:
        raise Unavailable(f"{base}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find(series, fresh):
    base = cache()
    release = None if NEWEST else recorded(series)
    with open(base / f"api-{series}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be at it
        for left in base.glob(f".{series}-*"):  # by one that was killed
            shutil.rmtree(left, ignore_errors=True)
        return (not fresh and _present(base, series, release)) or _install(base, series, release)


def installed(series, fresh=False):
    """The folder of that series's environment; makes it where that was not done yet, and asks the index in any case where
    it is to be `fresh`. Raises Unavailable."""
    if series not in _found:
        try:
            _found[series] = _find(series, fresh)
        except (Unavailable, OSError) as reason:
            _found[series] = Unavailable(str(reason))  # asked once: it takes seconds
    if isinstance(_found[series], Unavailable):
        raise _found[series]
    return _found[series]


@functools.cache
def _beside(salt, *words):
    """The folder for PYTHONPATH that has what pip installs for these words, for a Salt in that folder; or why it is not there."""
    wanted = ("install", "--quiet", "--target")
    try:
        return made(words[-1].replace("==", "-"), lambda folder: pip(salt / "bin/python", *wanted, folder, *words))
    except Unavailable as reason:
        return reason  # asked once, too


def _there(found):
    if isinstance(found, Unavailable):
        raise found
    return found


def ws4py(salt):
    """The folder for PYTHONPATH that has ws4py, for a Salt in that folder. Raises Unavailable."""
    return _there(_beside(salt, "--no-deps", WS4PY))


def hypothesis(salt):
    """The same for Hypothesis."""
    return _there(_beside(salt, HYPOTHESIS))


def release_of(folder):
    return folder.name.partition("-")[2]


def required(what, get):
    """What `get` gives; where that is Unavailable the test is skipped, or fails with CI=true."""
    import pytest

    try:
        return get()
    except Unavailable as reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no {what} here: {reason}")


def require(series):
    """The folder of that series's environment."""
    return required(f"Salt {series}", lambda: installed(series))


def main():
    for series in sys.argv[1:]:
        try:
            folder = installed(series, fresh=NEWEST)
            print(f"  SALT    {folder}, {ws4py(folder).name}", flush=True)
        except Unavailable as reason:
            print(f"  SALT    there is no {series} here: {reason}", flush=True)


if __name__ == "__main__":
    main()
