# SPDX-License-Identifier: MIT

import json
import os
import queue
import select
import subprocess
import time

from .salts import NETAPI

TIMEOUT = 150  # the timeout in seconds is longer than the timeouts of Salt


class Unanswered(Exception):
    """NetapiClient did not answer in time, or ended."""


class _Child:
    """A process with NetapiClient. The process handles one request at a time and starts with the first request."""

    def __init__(self, argv, log_path):
        self._argv, self._log_path, self._process = argv, log_path, None

    def ask(self, low, seconds):
        if self._process is None:
            with open(self._log_path, "ab") as log:
                self._process = subprocess.Popen(
                    self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0
                )
        try:
            self._process.stdin.write(json.dumps(low).encode() + b"\n")
            return json.loads(self._line(time.monotonic() + seconds))
        except (Unanswered, OSError) as error:
            self.stop()  # a late answer would become the answer of the next request
            raise Unanswered(f"{low}: {error}") from error

    def _line(self, end):
        line = b""
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise Unanswered("no answer in time")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise Unanswered(f"NetapiClient ended with {self._process.wait(TIMEOUT)}")
            line += piece
        return line

    def stop(self):
        """Stops the process, even while another thread waits for an answer."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait(TIMEOUT)
            process.stdin.close()
            process.stdout.close()


class Netapi:
    """A thread-safe pool of processes with NetapiClient."""

    def __init__(self, folder, config_path, log_path, size=4):
        argv = [folder / "bin/python", "-W", "ignore", NETAPI, config_path]
        self._children = [_Child(argv, log_path) for _ in range(size)]
        self._idle = queue.LifoQueue()
        for child in self._children:
            self._idle.put(child)

    def __call__(self, low, seconds=TIMEOUT):
        """Returns {"return": value} or {"error": class, "message": text} for a chunk. Raises Unanswered."""
        child = self._idle.get()
        try:
            return child.ask(low, seconds)
        finally:
            self._idle.put(child)

    def stop(self):
        for child in self._children:
            child.stop()
