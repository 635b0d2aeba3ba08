#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The engine `salt` in front of a real master, beside bare loops that do the same with ZeroMQ and nothing else: jobs
a second with local_async, how long a local job of one minion takes, and the responder's memory.

Both are asked in turns, so that what else the machine does hits both alike.
Usage: salt_bench.py BUILD [SECONDS [ROUNDS]]
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from bench import BUILD, ROUNDS, SCRIPT, SECONDS, load  # which finds `support` for all
from support import salts
from support.daemon import Daemon
from support.nginx import Nginx
from support.salt_master import Program, master_config
from support.simulated_minions import SimulatedMinions

LINE = "3006"
CONNECTIONS = 16  # of the responder's pool, when it is full
LOGIN = {"eauth": "auto", "username": "saltdev", "password": "saltdev"}
ANSWERING, SILENT = "sim-0", "sim-1"
MILLISECONDS = {"us": 1e-3, "ms": 1, "s": 1e3}


class Rivals:
    """A master with two minions, one of which never answers, and the responder in front of it behind nginx."""

    def __init__(self, folder, home):
        self._home, self._stack = home, []
        (home / "master").mkdir()
        self._config = master_config(home / "master", {"worker_threads": 5})
        master = Program(folder, "master", self._config, home / "master")
        try:
            self._stack.append(master)
            master.start()
            self._stack.append(
                SimulatedMinions(folder, master.config_path, home / "minions.log", "--count", 2, "--silent", 1)
            )
            (home / "rest_fcgi").mkdir()
            own = {"engine": "salt", "embedded": None}
            self.daemon = Daemon(home / "rest_fcgi", {**self._config, "log_level": "warning", "rest_fcgi": own})
            self._stack.append(self.daemon)
            self._nginx = Nginx(home / "nginx", [self.daemon.address], "unix_keepalive.conf", http="access_log off;")
            self._stack.append(self._nginx)
            assert self._nginx.run(chunk("local", ANSWERING)) == [{ANSWERING: True}]
        except BaseException:
            self.stop()
            raise

    def bare(self, mode, target, how):
        uri = f"tcp://127.0.0.1:{self._config['ret_port']}"
        argv = [BUILD / "bare_salt", mode, uri, target, how, SECONDS]
        return float(subprocess.run(map(str, argv), capture_output=True, text=True, check=True).stdout)

    def events(self):
        return pathlib.Path(self._config["sock_dir"]) / "master_event_pub.ipc"

    def ask(self, client, target, connections):
        """Requests a second through nginx and the responder, and the median time that one takes."""
        script = self._home / f"{client}.lua"
        script.write_text(SCRIPT % json.dumps([chunk(client, target)]))
        rate, median, _ = load(self._nginx, script, connections)
        number, unit = re.fullmatch(r"([\d.]+)(\D+)", median).groups()
        return rate, float(number) * MILLISECONDS[unit]

    def memory(self, field="VmRSS"):
        return int(self.daemon.status(field)) / 1024

    def stop(self):
        for one in reversed(self._stack):
            one.stop()


def chunk(client, target):
    return {**LOGIN, "client": client, "tgt": target, "fun": "test.ping"}


def alternate(one, other):
    """The results of each, in turns, after one that only warms it."""
    one(), other()
    return list(zip(*((one(), other()) for _ in range(ROUNDS))))


def middle(values, unit, digits):
    """Their median and spread."""
    return f"{statistics.median(values):.{digits}f}{unit} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def measure_async(rivals):
    bare, ours = alternate(
        lambda: rivals.bare("publish", SILENT, CONNECTIONS),
        lambda: rivals.ask("local_async", SILENT, CONNECTIONS)[0],
    )
    ratios = [our / its for its, our in zip(bare, ours)]
    print(f"local_async: {middle(ours, '/s', 0)}, bare {middle(bare, '/s', 0)}; ratio {middle(ratios, '', 2)}")


def measure_local(rivals):
    bare, ours = alternate(
        lambda: rivals.bare("wait", ANSWERING, rivals.events()),
        lambda: rivals.ask("local", ANSWERING, 1)[1],
    )
    more = [our - its for its, our in zip(bare, ours)]
    print(f"local: {middle(ours, ' ms', 2)}, bare {middle(bare, ' ms', 2)}; {middle(more, ' ms', 2)} more")


def main():
    try:
        folder = salts.installed(LINE)
    except salts.Unavailable as reason:
        sys.exit(f"no Salt here: {reason}")
    with tempfile.TemporaryDirectory(prefix="rest_fcgi-") as scratch:
        rivals = Rivals(folder, pathlib.Path(scratch))
        try:
            print(f"engine salt, a master of {LINE}; {ROUNDS} runs of {SECONDS} s each, in turns")
            rest = rivals.memory()
            measure_async(rivals)
            measure_local(rivals)
            print(f"RSS: {rest:.1f} MiB at rest, {rivals.memory('VmHWM'):.1f} MiB at most under load")
        finally:
            rivals.stop()


if __name__ == "__main__":
    main()
