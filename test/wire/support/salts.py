# SPDX-License-Identifier: MIT
"""Real Salts from the Python package index. Each release has its own environment.

The environments are in ${XDG_CACHE_HOME:-~/.cache}/rest_fcgi/api-RELEASE and are shared by all clones of a user.
An environment is installed in a temporary folder and then renamed.
The default is the release whose answers are recorded in test/vectors.
REST_FCGI_NEWEST_SALT=1 selects the newest release of the series.

usage: salts.py [SERIES ...]   installs missing releases; the default are the series that `make test` uses"""

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
FIRST = "3006"  # the series of the recorded answers and of the functions of minions
# Under Python 3.13, masters of 3006 and 3007 stop to answer their minions.
SERIES = ("3008",) if sys.version_info >= (3, 13) else (FIRST, "3007", "3008")
VECTORS = TOP / "test/vectors"
# The Python under which the answers were recorded. Docstrings and tracebacks in answers differ between Pythons.
RECORDED_PYTHON = (3, 11)
CALLS, EVENTS, FIRE, NETAPI, RULES, ETCD_RETURNER = (
    pathlib.Path(__file__).with_name(f"salt_{name}.py") for name in ("calls", "events", "fire", "netapi", "rules", "etcd_returner")
)
API = ["cherrypy"]
MORE = {series: API for series in SERIES} | {FIRST: [*API, "etcd3-py", "python-etcd"]}
HYPOTHESIS = "hypothesis==6.140.2"
TIMEOUT = 1200  # seconds, because a package index can be slow
NEWEST = bool(os.environ.get("REST_FCGI_NEWEST_SALT"))


class Unavailable(Exception):
    """The reason why a Salt is not available."""


_found = {}


def recorded(series):
    """Returns the release whose answers are recorded for the series, or None."""
    path = VECTORS / f"salt-{series}.json"
    return json.loads(path.read_text())["salt"] if path.exists() else None


def cache():
    """Returns the folder of all Salts.
    If other users can write to the usual folder, the Salts are in build/."""
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
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Unavailable(f"{' '.join(map(str, argv[1:4]))}: {last[0]}")
    return done.stdout


def pip(python, *words):
    return run(python, "-m", "pip", *words, "--disable-pip-version-check", "--retries", "2")


def made(name, fill):
    """Returns the folder `name` beside the Salts. Raises Unavailable.
    If the folder is missing, `fill` fills a temporary folder, which is then renamed."""
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
        if not place.exists():
            raise Unavailable(f"{base}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place


def _complete(folder, series):
    """Returns whether the folder belongs to us and has all required packages."""
    mark = folder / "complete"
    return mark.exists() and _is_ours(folder) and mark.read_text().split() == ["salt", *MORE[series]]


def _present(base, series, release):
    """Returns the folder of the release or of the newest installed release. Returns None if no release is installed."""
    found = [path for path in base.glob(f"api-{release or f'{series}.*'}") if _complete(path, series)]
    return max(found, key=lambda path: int(path.name.rpartition(".")[2]), default=None)


def _install(base, series, release):
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{series}-", dir=base))
    try:
        folder.chmod(0o755)
        run(sys.executable, "-m", "venv", folder)
        python = folder / "bin/python"
        # Without an exact version, pip installs an older release if the index lacks a package of the newest release.
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
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test run may be installing
        for left in base.glob(f".{series}-*"):
            shutil.rmtree(left, ignore_errors=True)
        return (not fresh and _present(base, series, release)) or _install(base, series, release)


def installed(series, fresh=False):
    """Returns the folder of a series. Installs a missing series. Raises Unavailable."""
    if series not in _found:
        try:
            _found[series] = _find(series, fresh)
        except (Unavailable, OSError) as reason:
            _found[series] = Unavailable(str(reason))
    return there(_found[series])


def found(name, fill):
    """Returns the result of `made`, or the reason why the folder cannot be made."""
    try:
        return made(name, fill)
    except Unavailable as reason:
        return reason


def there(folder):
    """Returns the folder, or raises the reason why the folder is missing."""
    if isinstance(folder, Unavailable):
        raise folder
    return folder


@functools.cache
def _beside(salt, *words):
    """Returns a folder for PYTHONPATH with more packages for a Salt, or the reason why the packages are missing."""
    wanted = ("install", "--quiet", "--target")
    return found(words[-1].replace("==", "-"), lambda folder: pip(salt / "bin/python", *wanted, folder, *words))


def hypothesis(salt):
    return there(_beside(salt, HYPOTHESIS))


def release_of(folder):
    return folder.name.partition("-")[2]


def required(what, get):
    """Returns the result of `get`. If `get` raises Unavailable, the test is skipped, or fails with CI=true."""
    import pytest

    try:
        return get()
    except Unavailable as reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no {what} here: {reason}")


def require(series):
    """Returns the folder of a series. Skips the test if the series is not available."""
    return required(f"Salt {series}", lambda: installed(series))


def main():
    for series in sys.argv[1:] or [FIRST, SERIES[-1]]:
        try:
            if series not in MORE:
                raise Unavailable("it does not work with this Python")
            folder = installed(series, fresh=NEWEST)
            print(f"  SALT    {folder}", flush=True)
        except Unavailable as reason:
            print(f"  SALT    there is no {series} here: {reason}", flush=True)


if __name__ == "__main__":
    main()
