# SPDX-License-Identifier: MIT
"""The engine `salt` in front of real masters, compared with bare ZeroMQ loops and salt-api."""

import pathlib
import subprocess

from harness import BUILD, ROUNDS, SECONDS, Request, case, load, memory, status
from request_cases import behind_nginx
from salt_api import SaltApi
from support import salts
from support.api import CRED, Api
from support.daemon import Daemon
from support.process import free_port
from support.salt_engine import Engine
from support.salt_master import Program, Salt, master_config
from support.simulated_minions import SimulatedMinions

LINE, API_LINE = "3006", "3008"
CONNECTIONS = 16  # connections in the full pool of rest_fcgi
AUTO = {"eauth": "auto", "username": "saltdev", "password": "saltdev"}
ANSWERING, SILENT = "sim-0", "sim-1"


class Simulated:
    """A master with two simulated minions, and rest_fcgi in front of the master behind nginx. One minion never
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


@case("salt_api", "The same requests to ours and to salt-api's rest_cherrypy, in front of a master with real minions")
def salt_api(bench):
    real = bench.ends(Salt(salts.installed(API_LINE), bench.folder("salt"), API_LINE))
    api = bench.ends(SaltApi(real))
    port = free_port()
    changes = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}, "rest_cherrypy": {"port": port}, "log_level": "warning"}
    engine = bench.ends(Engine(real, bench.folder("engine") / "ours", changes))
    ours, theirs = Api("127.0.0.1", port), Api("127.0.0.1", api.servers["rest_cherrypy"].port)
    ping = [{**CRED, "client": "local", "tgt": "ms-0", "fun": "test.ping"}]
    requests = {
        "GET /": Request("GET"),
        "POST /login": Request("POST", "/login", CRED),
        "POST /run": Request("POST", "/run", ping),
    }
    for name, request in requests.items():
        request.reply(ours), request.reply(theirs)
        rivals = {
            "ours": lambda: load(ours, [engine.pid], request, 4),
            "salt-api": lambda: load(theirs, api.pids, request, 4, max(SECONDS, 5)),
        }
        bench.in_turns(f"{name}, 4", rivals, rounds=min(ROUNDS, 2), keep=("rate", "CPU"))
