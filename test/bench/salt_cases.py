# SPDX-License-Identifier: MIT
"""The engine `salt` in front of a real master, compared with bare ZeroMQ loops."""

import pathlib
import subprocess

from harness import BUILD, SECONDS, Request, case, load, memory, status
from request_cases import behind_nginx
from support import salts
from support.daemon import Daemon
from support.salt_master import Program, master_config
from support.simulated_minions import SimulatedMinions

LINE = "3006"
CONNECTIONS = 16  # connections in the full pool of the responder
AUTO = {"eauth": "auto", "username": "saltdev", "password": "saltdev"}
ANSWERING, SILENT = "sim-0", "sim-1"


class Simulated:
    """A master with two simulated minions, and the responder in front of the master behind nginx. One minion never
    answers."""

    def __init__(self, bench):
        folder, home = salts.installed(LINE), bench.folder("salt")
        (home / "master").mkdir()
        self._config = master_config(home / "master", {"worker_threads": 5})
        master = bench.ends(Program(folder, "master", self._config, home / "master"))
        master.start()
        bench.ends(SimulatedMinions(folder, master.config_path, home / "minions.log", "--count", 2, "--silent", 1))
        (home / "ours").mkdir()
        own = {"engine": "salt", "embedded": None}
        self.ours = bench.ends(Daemon(home / "ours", {**self._config, "log_level": "warning", "rest_fcgi": own}))
        self.front = behind_nginx(bench, self.ours, "kept")
        self.events = pathlib.Path(self._config["sock_dir"]) / "master_event_pub.ipc"

    def bare(self, mode, target, how):
        argv = [BUILD / "bare_salt", mode, f"tcp://127.0.0.1:{self._config['ret_port']}", target, how, max(int(SECONDS), 1)]
        return float(subprocess.run(map(str, argv), capture_output=True, text=True, check=True).stdout)


def chunk(client, target):
    return Request(body=[{**AUTO, "client": client, "tgt": target, "fun": "test.ping"}])


@case("salt", "Jobs of a real master: local_async on 16 connections and local on one, against bare ZeroMQ loops")
def salt(bench):
    master = Simulated(bench)
    begun, answered = chunk("local_async", SILENT), chunk("local", ANSWERING)
    answered.reply(master.front)
    for what, value in memory(master.ours.pid).items():
        bench.add("at rest", what, [value])

    def waited():
        run = load(master.front, [master.ours.pid], answered, 1)
        return {"time": run["50%"] / 1000, "CPU": run["CPU"]}

    rivals = {
        "ours": lambda: load(master.front, [master.ours.pid], begun, CONNECTIONS),
        "bare loop": lambda: {"rate": master.bare("publish", SILENT, CONNECTIONS)},
    }
    bench.in_turns("local_async", rivals, keep=("rate", "CPU"))
    bench.in_turns("local", {"ours": waited, "bare loop": lambda: {"time": master.bare("wait", ANSWERING, master.events)}}, keep=("time", "CPU"))
    bench.add("at most under load", "RSS", [status(master.ours.pid, "VmHWM") / 1024])
