# SPDX-License-Identifier: MIT
"""A running rest_fcgi. Each test starts the built binary with a new configuration and socket."""

import hashlib
import json
import os
import pathlib
import subprocess

import pytest

from .api import CRED
from .process import Process, free_port, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = pathlib.Path(os.environ.get("REST_FCGI_BINARY", ROOT / "build/rest_fcgi")).resolve()
SANITIZED = os.environ.get("REST_FCGI_SANITIZED", "")

LONG = bool(os.environ.get("REST_FCGI_LONG"))
QUIET = bool(os.environ.get("REST_FCGI_QUIET"))  # the machine is idle, so tests can check speeds
SOAK_SECONDS = int(os.environ.get("SOAK_SECONDS") or 600 * LONG)


def may_look_into_others():
    """Returns whether the test has CAP_SYS_PTRACE, which it needs to read /proc of rest_fcgi."""
    status = pathlib.Path("/proc/self/status").read_text()
    (capabilities,) = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return bool(int(capabilities, 16) >> 19 & 1)


NEEDS_PTRACE = pytest.mark.skipif(
    not may_look_into_others(), reason="CAP_SYS_PTRACE is needed to look into a process that is not dumpable"
)
if not may_look_into_others():
    # LeakSanitizer is off because it needs ptrace. The unit tests look for leaks.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

CLIENTS = ["local", "local_async", "local_batch", "local_subset", "runner", "runner_async", "wheel", "wheel_async"]
MINIONS = ["ms-0", "ms-1", "ms-2"]


def merge(base, changes):
    """Merges `changes` into `base` key by key. The value None removes a key."""
    merged = dict(base)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def file_eauth(directory, rules):
    """Returns the section `external_auth: file` with `rules`. Writes a password file with the password of `CRED`."""
    digest = hashlib.sha256(CRED["password"].encode()).hexdigest()
    (directory / "users").write_text("".join(f"{name}:{digest}\n" for name in rules if name[0] not in "^*"))
    return {"^filename": str(directory / "users"), "^hashtype": "sha256", **rules}


def master_config(directory, changes=None):
    """Returns a master file with three minions and every client. The user `saltdev` has all permissions."""
    config = merge(
        {
            "netapi_enable_clients": CLIENTS,
            "external_auth": {"file": {CRED["username"]: [".*", "@runner", "@wheel", "@jobs"]}},
            "cachedir": str(directory / "cache"),
            "log_level": "info",
            "rest_fcgi": {
                "listen": f"unix:{directory / 'fcgi.sock'}",
                "embedded": {"minions": {minion: {} for minion in MINIONS}},
            },
        },
        changes or {},
    )
    eauths = config.get("external_auth", {})
    if "file" in eauths:
        eauths["file"] = file_eauth(directory, eauths["file"])
    return config


def run(*args, stdin="", env=None):
    return subprocess.run(
        [BINARY, *args], input=stdin, capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})}
    )


class Daemon:
    def __init__(self, directory, changes=None, tcp=False, binary=None):
        self.directory = directory
        if tcp:
            self.address = ("127.0.0.1", free_port())
            listen = f"tcp:127.0.0.1:{self.address[1]}"
        else:
            self.address = str(directory / "fcgi.sock")
            listen = f"unix:{self.address}"
        self.config_path = directory / "master"
        self.configure(changes)
        argv = [binary or BINARY, "--config", self.config_path, "--listen", listen]
        self._start = lambda: Process(argv, directory / "rest_fcgi.log", self.address)
        self._process = self._start()

    def start_again(self):
        self._process = self._start()

    def __getattr__(self, name):
        return getattr(self._process, name)

    def configure(self, changes=None):
        self.config_path.write_text(json.dumps(master_config(self.directory, changes), indent=1))

    def await_log(self, text):
        wait_until(lambda: text in self.log(), f"the log says {text!r}")

    def open_files(self):
        """Returns the number of open descriptors. REQUIRES: NEEDS_PTRACE."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connections(self):
        """Returns the number of connections to the unix socket, from the kernel's table of sockets."""
        with open("/proc/net/unix") as table:
            return sum(line.split()[-1] == self.address for line in table) - 1  # does not count the listening socket

    def status(self, field):
        for line in open(f"/proc/{self.pid}/status"):
            name, _, value = line.partition(":")
            if name == field:
                return value.split()[0]
        raise KeyError(field)
