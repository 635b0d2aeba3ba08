# SPDX-License-Identifier: MIT
"""A child process that a test starts, waits for and ends, and nothing else."""

import contextlib
import os
import pathlib
import pwd
import random
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

PATIENCE = 30  # seconds until something that takes milliseconds counts as stuck; sanitizers are slow


def short_directory():
    """A directory with a path short enough for a unix socket (107 bytes)."""
    return pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))


def wait_until(condition, what, seconds=PATIENCE):
    """The first true value of `condition`; fails the test when there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain until {what}")


_given = set()
_slice = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10


def free_port():
    """A port on loopback that nobody has, below those that the kernel gives to connections, so that it is still free
    when somebody comes back to it. Workers that run tests at the same time have a range each."""
    while True:
        port = random.randrange(12000 + 2000 * _slice, 14000 + 2000 * _slice)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


def connect(address, timeout=PATIENCE):
    """A connection to a unix socket's path, or to a (host, port)."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def sent(address, data):
    """A connection on which that was sent; fails where it is not taken at once."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    connection.connect(address)
    connection.settimeout(PATIENCE)
    connection.sendall(data)
    return connection


@contextlib.contextmanager
def meanwhile(do, every):
    """Calls `do` each `every` seconds, from a thread of its own, until the `with` ends."""
    stop = threading.Event()

    def repeat():
        while not stop.wait(every):
            do()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def command_lines():
    """Of each process: its number, and its arguments. A glob for /proc/*/cmdline fails where one ends meanwhile."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield int(name), pathlib.Path("/proc", name, "cmdline").read_bytes().split(b"\0")


def processes_of(program):
    """Those that run now, by the path that they were started with."""
    return [pid for pid, arguments in command_lines() if arguments[0] == bytes(program)]


def gone(pid):
    """Has it ended? What nobody has waited for yet, has."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def unanswered(connections):
    """Those of the connections on which nothing came yet."""
    readable, _, _ = select.select(connections, [], [], 0)
    return [connection for connection in connections if connection not in readable]


@contextlib.contextmanager
def socket_of(user, sent=b""):
    """A socket whose other end is that user's to the kernel (SO_PEERCRED); it has sent that, and says no more."""
    own, uid = os.geteuid(), pwd.getpwnam(user).pw_uid
    if own not in (0, uid):
        pytest.skip("only root can be another user")
    os.seteuid(uid)
    try:
        theirs, ours = socket.socketpair()
    finally:
        os.seteuid(own)
    with theirs, ours:
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        yield ours


def answers(address):
    try:
        connect(address).close()
    except OSError:
        return False
    return True


class Process:
    """A program with its standard error in a file."""

    def __init__(self, argv, log_path, address):
        """Comes back when somebody listens at `address`."""
        self.log_path = log_path
        with open(log_path, "ab") as log:
            self._child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(lambda: answers(address) or not self.running, f"{argv[0]} listens")
            assert self.running, f"{argv[0]} ended with {self.wait()}: {self.log()}"
        except BaseException:
            self._child.kill()
            self.wait()
            raise

    @property
    def pid(self):
        return self._child.pid

    @property
    def running(self):
        return self._child.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def kill(self, number):
        self._child.send_signal(number)

    def wait(self, seconds=PATIENCE):
        """The exit status; negative for a signal."""
        return self._child.wait(seconds)

    def stop(self, number=signal.SIGTERM, seconds=60):
        """Ends it as an init system would, and gives the exit status. Does nothing to one that has ended."""
        if self.running:
            self.kill(number)
        try:
            return self.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self.wait()
            raise
