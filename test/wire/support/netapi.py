# SPDX-License-Identifier: MIT
"""Salt's own NetapiClient, to compare with."""

import json
import queue
import subprocess

from .salts import NETAPI


class Netapi:
    """Processes that have it, for one request at a time each. Callable from many threads."""

    def __init__(self, folder, config_path, log_path, size=3):
        """Comes back at once; the first answers take until Salt is imported."""
        self._children = []
        self._idle = queue.SimpleQueue()
        with open(log_path, "ab") as log:
            for _ in range(size):
                argv = [folder / "bin/python", "-W", "ignore", NETAPI, config_path]
                child = subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
                )
                self._children.append(child)
                self._idle.put(child)

    def __call__(self, low):
        """{"return": value} or {"error": class, "message": text} for a chunk."""
        child = self._idle.get()
        try:
            print(json.dumps(low), file=child.stdin, flush=True)
            line = child.stdout.readline()
        finally:
            self._idle.put(child)
        assert line, f"NetapiClient ended with {child.poll()} at {low}"
        return json.loads(line)

    def stop(self):
        for child in self._children:
            child.stdin.close()
        for child in self._children:
            child.wait(30)
            child.stdout.close()
