# SPDX-License-Identifier: MIT
"""A rest_fcgi with a supervisor, as under systemd, and the messages that it sends to systemd (sd_notify(3))."""

import pathlib
import socket


class Manager:
    """A socket that takes messages like systemd. `said` has the messages so far."""

    def __init__(self, directory):
        self.path = str(directory / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._socket.setblocking(False)
        self._said = []

    def said(self):
        while True:
            try:
                self._said.append(self._socket.recv(65536).decode())
            except BlockingIOError:
                return self._said

    def close(self):
        self._socket.close()


def worker_of(pid):
    """Returns the process id of the supervisor's child."""
    (child,) = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)
