# SPDX-License-Identifier: MIT

import pathlib
import subprocess

from .process import TIMEOUT, line_of

PROGRAM = pathlib.Path(__file__).parents[2] / "simulated_minions"


class SimulatedMinions:
    """Minions that have joined the master when the constructor returns. The end removes their keys."""

    def __init__(self, folder, config_path, log_path, *options):
        """`folder` is the environment of a Salt, and `options` are options of test/simulated_minions."""
        argv = [folder / "bin/python", "-W", "ignore", PROGRAM, *map(str, options), config_path]
        with open(log_path, "ab") as log:
            self._child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = line_of(self._child.stdout, 6 * TIMEOUT)
            assert line == "ready\n", f"the simulated minions did not join: {log_path.read_text()}"
        except BaseException:
            self.stop()
            raise

    def stop(self):
        self._child.terminate()
        self._child.wait(TIMEOUT)
        self._child.stdout.close()
