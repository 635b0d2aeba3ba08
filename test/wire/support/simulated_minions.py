# SPDX-License-Identifier: MIT

import pathlib
import queue
import subprocess
import threading

from .process import TIMEOUT

PROGRAM = pathlib.Path(__file__).parents[2] / "simulated_minions"


class SimulatedMinions:
    """Minions that have joined the master when the constructor returns. The end removes their keys."""

    def __init__(self, folder, config_path, log_path, *options, seconds=6 * TIMEOUT):
        """`folder` is the environment of a Salt, and `options` are options of test/simulated_minions."""
        argv = [folder / "bin/python", "-W", "ignore", PROGRAM, *map(str, options), config_path]
        with open(log_path, "ab") as log:
            self._child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
            )
        lines = queue.SimpleQueue()
        threading.Thread(target=lambda: lines.put(self._child.stdout.readline()), daemon=True).start()
        try:
            line = lines.get(timeout=seconds)
            assert line == "ready\n", f"the simulated minions did not join: {log_path.read_text()}"
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self._child.pid

    def stop(self):
        self._child.terminate()
        self._child.wait(TIMEOUT)
        self._child.stdout.close()
