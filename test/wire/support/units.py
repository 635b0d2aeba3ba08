# SPDX-License-Identifier: MIT
"""A running rest_fcgi under a service manager like systemd. A dead process is restarted, and the sockets stay open."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from . import daemon as daemons
from .process import TIMEOUT, join, wait_until

# The script passes sockets to a program as descriptors 3, 4, ... and sets LISTEN_PID and LISTEN_FDS (sd_listen_fds(3)).
HAND_OVER = """
import fcntl, os, sys
sockets = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",")]
for at, fd in enumerate(sockets):
    os.dup2(fd, 3 + at)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(sockets)))
os.execv(sys.argv[2], sys.argv[2:])
"""


def listening(address):
    """Listens at a path or a (host, port) with a short accept queue."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    made = socket.socket(family)
    if not isinstance(address, str):
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(address)
    if isinstance(address, str):
        os.chmod(address, 0o666)
    made.listen(128)
    return made


def handing_over(sockets, argv):
    """Returns the options of subprocess that pass the sockets to a program."""
    fds = [one.fileno() for one in sockets]
    return {"args": [sys.executable, "-I", "-S", "-c", HAND_OVER, ",".join(map(str, fds)), *argv], "pass_fds": fds}


class Unit:
    """A running rest_fcgi whose sockets come from a service manager. `ports` are the HTTP ports."""

    RESTART_SECONDS = 0.1

    def __init__(self, directory, changes=None, ports=()):
        directory.mkdir(exist_ok=True)
        self.directory, self.address = directory, str(directory / "fcgi.sock")
        self.config_path, self.log_path = directory / "master", directory / "rest_fcgi.log"
        self.binary = daemons.BINARY
        self.configure(changes)
        self._sockets = [listening(self.address), *(listening(("127.0.0.1", port)) for port in ports)]
        self._child, self._stopping, self.starts, self.ends = None, False, 0, []
        self._keeper = threading.Thread(target=self._keep)
        self._keeper.start()
        wait_until(lambda: self._child, "the process is started")

    def configure(self, changes=None):
        """Writes the configuration without `listen`, so that rest_fcgi uses the passed socket."""
        config = daemons.master_config(self.directory, daemons.merge({"rest_fcgi": {"listen": "fd:0"}}, changes or {}))
        self.config_path.write_text(json.dumps(config, indent=1))

    def _start(self):
        start = handing_over(self._sockets, [self.binary, "--config", self.config_path])
        with open(self.log_path, "ab") as log:
            self._child = subprocess.Popen(stdin=subprocess.DEVNULL, stdout=log, stderr=log, **start)
        self.starts += 1

    def _keep(self):
        while not self._stopping:
            self._start()
            self.ends.append(self._child.wait())
            if self.ends[-1] != 0 and not self._stopping:
                time.sleep(self.RESTART_SECONDS)

    @property
    def pid(self):
        return self._child.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def send_signal(self, number):
        os.kill(self.pid, number)

    def replace(self, number=signal.SIGTERM, binary=None):
        """Ends the process with a signal and waits for the start of the next process. Returns the exit status.
        The next process runs `binary`, if given."""
        self.binary, before = binary or self.binary, self.starts
        self.send_signal(number)
        wait_until(lambda: self.starts > before, "the next process is started", 2 * TIMEOUT)
        return self.ends[before - 1]

    def stop(self):
        self._stopping = True
        self.send_signal(signal.SIGTERM)
        join([self._keeper])
        for one in self._sockets:
            one.close()
        assert self.ends[-1] in (0, -signal.SIGTERM), self.log()  # a starting process does not handle SIGTERM
