# SPDX-License-Identifier: MIT
"""Processes, ports, connections and waits of tests."""

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

TIMEOUT = 30  # operations of milliseconds get this many seconds, because sanitizers are slow


def short_directory():
    """Creates a folder whose path is short enough for a unix socket (107 bytes)."""
    return pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))


def wait_until(condition, what, seconds=TIMEOUT):
    """Returns the first true value of `condition`. Fails the test after `seconds`."""
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
    """Returns a free port on loopback below the kernel's range for outgoing connections.
    Parallel test workers have separate ranges."""
    while True:
        port = random.randrange(12000 + 2000 * _slice, 14000 + 2000 * _slice)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


def connect(address, timeout=TIMEOUT):
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
    """Sends data to a unix socket and returns the connection. Fails if the accept queue is full."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    connection.connect(address)
    connection.settimeout(TIMEOUT)
    connection.sendall(data)
    return connection


def join(threads, seconds=8 * TIMEOUT):
    """Waits until the threads end. Fails the test after `seconds`."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), f"threads did not end within {seconds} s"


def line_of(stream, seconds=4 * TIMEOUT):
    """Reads a line from the pipe of a child process. Fails the test after `seconds`."""
    assert select.select([stream], [], [], seconds)[0], f"no line within {seconds} s"
    return stream.readline()


@contextlib.contextmanager
def meanwhile(do, every):
    """Calls `do` in a thread every `every` seconds while the block runs."""
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
        join([thread])


def command_lines():
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield int(name), pathlib.Path("/proc", name, "cmdline").read_bytes().split(b"\0")


def processes_of(program):
    return [pid for pid, arguments in command_lines() if arguments[0] == bytes(program)]


def has_ended(pid):
    """Returns whether a process has ended. A zombie process counts as ended."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def unanswered(connections):
    readable, _, _ = select.select(connections, [], [], 0)
    return [connection for connection in connections if connection not in readable]


@contextlib.contextmanager
def socket_of(user, sent=b""):
    """Yields a socket whose peer is `user` (SO_PEERCRED).
    The peer has sent `sent` and closed its sending direction."""
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
    def __init__(self, argv, log_path, address):
        """Starts the program and waits until the program listens at `address`."""
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

    def wait(self, seconds=TIMEOUT):
        """Returns the exit status. Raises subprocess.TimeoutExpired after `seconds`."""
        return self._child.wait(seconds)

    def stop(self, number=signal.SIGTERM, seconds=60):
        """Stops the program with a signal and returns the exit status. Does nothing if the program has ended."""
        if self.running:
            self.kill(number)
        try:
            return self.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self.wait()
            raise
