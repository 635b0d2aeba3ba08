# SPDX-License-Identifier: MIT
"""A syndic with an upper master, a lower master, and minions of the lower master."""

import signal

from .process import TIMEOUT, answers, wait_until
from .salt_master import Program, Salt, minion_config

SYNDIC = "syndic-0"
QUICK = {"syndic_event_forward_timeout": 0.1}


class BareSalt(Salt):
    """A master and minions whose start does not wait for Salt's ping."""

    def await_minions(self, *minions, **options):
        address = ("127.0.0.1", self.config["ret_port"])
        wait_until(lambda: answers(address), f"{address} is listened at", 2 * TIMEOUT)


class SyndicatedSalt(BareSalt):
    def __init__(self, folder, home, series, minions, changes=None):
        self.lower = self._syndic = None
        super().__init__(folder, home, series, {"order_masters": True, "syndic_wait": 5, **(changes or {})}, ())
        try:
            (home / "lower").mkdir()
            above = {"syndic_master": "127.0.0.1", "syndic_master_port": self.config["ret_port"], **QUICK}
            self.lower = BareSalt(folder, home / "lower", series, above, minions)
            self._syndic = self._start_syndic(home / "syndic")
        except BaseException:
            self.stop()
            raise

    def _start_syndic(self, home):
        """Starts the syndic with the lower master's file and a minion's file."""
        minion = minion_config(home, SYNDIC, self.config)
        Program(self.folder, "minion", minion, home)
        own = {"syndic_pidfile": str(home / "pid"), "syndic_log_file": str(home / "log")}
        Program(self.folder, "master", {**self.lower.config, **own}, home)
        syndic = Program(self.folder, "syndic", {}, home)
        syndic.start()
        return syndic

    def stop(self):
        if self._syndic:
            self._syndic.stop(signal.SIGKILL)
        if self.lower:
            self.lower.stop()
        super().stop()
