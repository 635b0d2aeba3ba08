# SPDX-License-Identifier: MIT
"""A real Salt master and its minions on loopback."""

import contextlib
import functools
import getpass
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from .api import CRED
from .daemon import CLIENTS, merge, file_eauth
from .netapi import Netapi, Unanswered
from .process import TIMEOUT, free_port, has_ended, wait_until

SECRET = "s3cret-of-the-master"
MINIONS = ("ms-0", "ms-1", "ms-2.example.org")
DEAD = "dead-9"  # the master has the key of this minion, but the minion does not run
MODULES = pathlib.Path(__file__).with_name("salt_modules")
ALL = [".*", "@runner", "@wheel", "@jobs"]
CANARY = "canary"
USERS = {
    "admin": ALL,
    "limited": [{"ms-0": ["test.ping"]}],
    "listed": ["test.ping", "test.echo", "test.arg", "sys.list_functions", {"@runner": ["test.arg"]}],
}
PORTS = ("publish_port", "ret_port", "tcp_master_pub_port", "tcp_master_pull_port", "tcp_master_publish_pull")
NODEGROUPS = {"web": "G@role:web", "both": "N@web or L@ms-2.example.org", "words": ["ms-0", "or", "N@web"]}

QUICK = {
    "acceptance_wait_time": 1,
    "auth_tries": 100,
    "auth_timeout": 5,
    "enable_fqdns_grains": False,
    "enable_gpu_grains": False,
    "keysize": 2048,
    "mine_enabled": False,
    "random_reauth_delay": 1,
    "recon_default": 100,
    "recon_max": 500,
    "return_retry_timer": 10,  # seconds until a minion sends a return again to a busy master
    "return_retry_timer_max": 20,
}
GRAINS = {
    "ms-0": {"role": "web", "rack": ["a", "b"], "place": {"city": "Linz"}},
    "ms-1": {"role": "web", "rack": ["b"], "place": {"city": "Graz"}},
    "ms-2.example.org": {"role": "db", "rack": ["c"], "place": {"city": "Linz"}},
}
PILLAR = {minion: {"port": 8000 + at, "tier": grains["role"]} for at, (minion, grains) in enumerate(GRAINS.items())}


def family(pid):
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                parent = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(entry))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def listens(pid, path):
    """Returns whether a process listens at a unix socket, from the kernel's tables."""
    accepts = "00010000"
    lines = [line.split() for line in open("/proc/net/unix")]
    sockets = {f"socket:[{line[6]}]" for line in lines if line[-1] == str(path) and line[3] == accepts}
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        return any(os.readlink(f"{folder}/{fd}") in sockets for fd in os.listdir(folder))
    return False


class Program:
    def __init__(self, folder, name, config, home):
        self.home, self.config_path = home, home / name
        home.mkdir(exist_ok=True)
        self.config_path.write_text(json.dumps(config))
        self._argv = [folder / "bin/python", "-W", "ignore", folder / f"bin/salt-{name}", "-c", home]
        self._child = None
        self.starts = 0

    @property
    def pids(self):
        return family(self._child.pid)

    @property
    def running(self):
        return self._child is not None and self._child.poll() is None

    def start(self):
        # A killed master leaves this pid file. Salt would not start if another process now had this pid.
        (self.home / "process_responsibility_pid").unlink(missing_ok=True)
        # Salt starts three times faster with compiled Python files.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with open(self.home / "output", "ab") as output:
            self._child = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
            )
        self.starts += 1

    def stop(self, number=signal.SIGTERM):
        """Ends all processes and waits. SIGKILL first freezes all processes, so that no process can send an error."""
        if self._child is None:
            return
        pids = self.pids
        if number == signal.SIGKILL:
            send(pids, signal.SIGSTOP)
        send(pids if number == signal.SIGKILL else pids[:1], number)
        end = time.monotonic() + TIMEOUT / 3
        while not all(map(has_ended, pids)):
            if time.monotonic() > end:  # a parent process that ends first may leave children
                send(pids, signal.SIGKILL)
            time.sleep(0.01)
        self._child.wait(TIMEOUT)
        self._child = None

    def abandon(self, path):
        """Kills all processes except the process that listens at the unix socket `path`. Returns its pid."""
        pids = self.pids
        (orphan,) = [pid for pid in pids if listens(pid, path)]
        rest = [pid for pid in pids if pid != orphan]
        send(rest, signal.SIGSTOP)
        send(rest, signal.SIGKILL)
        self._child.wait(TIMEOUT)
        self._child = None
        wait_until(lambda: all(map(has_ended, rest)), "the others have ended")
        return orphan

    def log(self):
        logs = [path.read_text(errors="replace") for path in (self.home / "output", self.home / "log") if path.exists()]
        return "\n".join(logs)


def master_config(home, changes):
    files = {name: str(home / name) for name in ("pki", "cache", "sock", "log", "pid")}
    return merge(
        {
            "root_dir": str(home),
            "pki_dir": files["pki"],
            "cachedir": files["cache"],
            "sock_dir": files["sock"],
            "log_file": files["log"],
            "log_level_logfile": "warning",
            "pidfile": files["pid"],
            "user": getpass.getuser(),
            "interface": "127.0.0.1",
            **{port: free_port() for port in (*PORTS, "tcp_master_workers")},
            "auto_accept": True,
            "worker_threads": 3,
            "timeout": 30,  # a busy machine needs a long timeout
            "gather_job_timeout": 30,
            "sharedsecret": SECRET,
            "external_auth": {"sharedsecret": USERS, "auto": {"saltdev": ALL}, "file": file_eauth(home.parent, {"saltdev": ALL, CANARY: ALL})},
            "netapi_enable_clients": CLIENTS,
            "nodegroups": NODEGROUPS,
            "pillar_roots": {"base": [str(home / "pillar")]},
            "file_roots": {"base": [str(home / "states")]},
            "rest_cherrypy": {"port": free_port(), "host": "127.0.0.1", "disable_ssl": True},
            "rest_tornado": {"port": free_port(), "address": "127.0.0.1", "disable_ssl": True},
            "api_logfile": str(home / "api.log"),
            "api_pidfile": str(home / "api.pid"),
            "rest_fcgi": {"engine": "salt"},
        },
        changes,
    )


def write_pillar(folder):
    folder.mkdir()
    (folder / "top.sls").write_text(json.dumps({"base": {minion: [minion.partition(".")[0]] for minion in PILLAR}}))
    for minion, pillar in PILLAR.items():
        (folder / (minion.partition(".")[0] + ".sls")).write_text(json.dumps(pillar))


def minion_config(home, minion, master):
    return {
        **QUICK,
        "id": minion,
        "root_dir": str(home),
        "pki_dir": str(home / "pki"),
        "cachedir": str(home / "cache"),
        "sock_dir": str(home / "sock"),
        "log_file": str(home / "log"),
        "log_level_logfile": "warning",
        "pidfile": str(home / "pid"),
        "user": getpass.getuser(),
        "master": "127.0.0.1",
        "master_port": master["ret_port"],
        "publish_port": master["publish_port"],
        "grains": GRAINS.get(minion, {}),
        "module_dirs": [str(MODULES)],
    }


class Salt:
    """A master and its minions. The minions answer when the constructor returns."""

    def __init__(self, folder, home, series, changes=None, minions=MINIONS):
        self.folder, self.home, self.series = folder, home, series
        self.config = master_config(home / "master", changes or {})
        (home / "master").mkdir()
        write_pillar(home / "master/pillar")
        self.master = Program(folder, "master", self.config, home / "master")
        self.minions = {
            minion: Program(folder, "minion", minion_config(home / f"m{at}", minion, self.config), home / f"m{at}")
            for at, minion in enumerate(minions)
        }
        self._starts_seen = 0
        try:
            self.heal()
        except BaseException:
            self.stop()
            raise

    def canary(self, word):
        """Creates a user with all permissions and the password `word`. Returns the credentials."""
        users = self.home / "users"
        others = [line for line in users.read_text().splitlines(True) if not line.startswith(f"{CANARY}:")]
        users.write_text("".join([*others, f"{CANARY}:{hashlib.sha256(word.encode()).hexdigest()}\n"]))
        return {"eauth": "file", "username": CANARY, "password": word}

    @functools.cached_property
    def netapi(self):
        return Netapi(self.folder, self.master.config_path, self.home / "netapi.log")

    @property
    def places(self):
        """Returns a map from paths and names of this run to their placeholders in recorded answers."""
        keys = [(f"{socket.gethostname()}.{end}", f"HOST.{end}") for end in ("pem", "pub")]
        return [(str(self.home), "HOME"), (str(self.folder), "SALT"), *keys]

    def await_minions(self, *minions, seconds=20 * TIMEOUT):
        """Waits until all minions answer a ping. Restarts a minion that does not answer for long.
        A minion of 3007 can lose all returns after its master was killed."""
        wanted = set(minions or self.minions)
        ping = {**CRED, "client": "local", "tgt": sorted(wanted), "tgt_type": "list", "fun": "test.ping"}
        waits = itertools.chain([1, 1, 2, 5, 5], itertools.repeat(20))
        started = time.monotonic()

        def all_answer():
            nonlocal started
            ended = [one.home.name for one in (self.master, *map(self.minions.get, wanted)) if not one.running]
            assert not ended, f"{ended} do not run"
            try:
                answer = self.netapi({**ping, "timeout": next(waits), "gather_job_timeout": 1}).get("return", {})
            except Unanswered:
                return False
            heard = {minion for minion, value in answer.items() if value is True} if isinstance(answer, dict) else set()
            if time.monotonic() - started > 3 * TIMEOUT:
                started = time.monotonic()
                self._start_again(wanted - heard)
            return heard >= wanted

        try:
            wait_until(all_answer, f"{wanted} answer", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; the master says: {self.master.log()}") from error

    def heal(self):
        """Starts every stopped part and waits for answers. Restarts minions that have lost their master."""
        if not self.master.running:
            self.master.stop(signal.SIGKILL)  # a dead master leaves child processes
            self.master.start()
        if self.master.starts > self._starts_seen:
            self._starts_seen = self.master.starts
            self._start_again(self.minions)
        self._start_again(minion for minion, program in self.minions.items() if not program.running)
        self.await_minions()

    def _start_again(self, minions):
        for minion in minions:
            self.minions[minion].stop(signal.SIGKILL)
            self.minions[minion].start()

    def accept(self, minion):
        """Accepts a key for a minion that does not run."""
        keys = self.home / "master/pki/minions"
        shutil.copy(keys / next(iter(self.minions)), keys / minion)

    def stop(self):
        for program in (*self.minions.values(), self.master):
            program.stop(signal.SIGKILL)
        if "netapi" in self.__dict__:
            self.netapi.stop()
