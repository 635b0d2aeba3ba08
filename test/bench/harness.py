# SPDX-License-Identifier: MIT
"""Shared parts of the cases: rivals in turns, load from wrk, CPU time of processes, and the figures.

A case measures one quantity at several points. A figure has our value and the rival's value. The two programs take
turns, so that other load affects both programs. The figure keeps the share of other load.
"""

import contextlib
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BENCH_BUILD", HERE.parents[1] / "build")).resolve()
os.environ["REST_FCGI_BINARY"] = str(BUILD / "rest_fcgi")
sys.path[:0] = [str(HERE.parent / "wire"), str(HERE.parent / "wire/salt_engine")]

from support.daemon import Daemon  # noqa: E402
from support.process import Process  # noqa: E402
from support.salt_master import family  # noqa: E402

SECONDS = float(os.environ.get("BENCH_SECONDS") or 2)  # seconds of one round
ROUNDS = int(os.environ.get("BENCH_ROUNDS") or 5)
MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}

LOGIN = {"eauth": "file", "username": "saltdev", "password": "saltdev"}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


@dataclasses.dataclass
class Figure:
    """One quantity at one point. `at` is a name, or a size with which the cost may grow."""

    case: str
    at: str
    what: str
    unit: str
    ours: list
    rival: list  # `rival` is empty if the case has no rival.
    rival_name: str = ""
    busy: float = 0  # `busy` is the share of the machine that other programs used.

    @property
    def middle(self):
        return statistics.median(self.ours)

    @property
    def ratio(self):
        return self.middle / statistics.median(self.rival) if self.rival and statistics.median(self.rival) else None

    @property
    def beside(self):
        """Returns our figure and the rival's figure as a text. Returns an empty text without a rival."""
        if not self.rival:
            return ""
        return f"{self.middle:.4g} {self.unit} beside {statistics.median(self.rival):.4g} of {self.rival_name}"

    @property
    def added(self):
        return self.middle - statistics.median(self.rival)

    @property
    def spread(self):
        """Returns the relative difference of rounds that should be equal."""
        return max((max(values) - min(values)) / statistics.median(values) for values in (self.ours, self.rival) if values and statistics.median(values))


CASES = {}


def case(name, title):
    def register(function):
        CASES[name] = (title, function)
        return function

    return register


def cpu(pids):
    """Returns the CPU seconds of processes, including ended threads (clock_getcpuclockid(3))."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def machine():
    """Returns the CPU seconds of the machine since its start, including the CPU seconds of the hypervisor."""
    fields = [int(field) for field in open("/proc/stat").readline().split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def cpu_of_family(pid):
    """Returns the CPU seconds of a process and its descendants, including ended processes."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            fields = open(f"/proc/{one}/stat").read().rpartition(")")[2].split()[11:15]
            total += sum(map(int, fields))
    return total / os.sysconf("SC_CLK_TCK")


class Others:
    """Measures the share of other programs from the constructor on."""

    def __init__(self):
        self._began, self._machine, self._own = time.monotonic(), machine(), cpu_of_family(os.getpid())

    def share(self):
        used = machine() - self._machine - (cpu_of_family(os.getpid()) - self._own)
        return max(used, 0) / max((time.monotonic() - self._began) * os.cpu_count(), 0.01)


def status(pid, field):
    return int(re.search(rf"^{field}:\s+(\d+)", open(f"/proc/{pid}/status").read(), re.MULTILINE)[1])


def memory(pid):
    """Returns the MiB of a process: all resident memory, and the anonymous part."""
    text = open(f"/proc/{pid}/smaps_rollup").read()
    return {what: int(re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)[1]) / 1024 for what, name in (("RSS", "Rss"), ("anonymous", "Anonymous"))}


class Request:
    """A request that wrk sends, and the expected status."""

    def __init__(self, method="POST", path="/", body="", headers=None, status=200):
        self.method, self.path, self.status = method, path, status
        self.body = body if isinstance(body, str) else json.dumps(body)
        self.headers = headers if headers is not None else {"Content-Type": "application/json"} if self.body else {}
        self._script = tempfile.NamedTemporaryFile("w", suffix=".lua")
        lines = [f"wrk.method = {json.dumps(method)}", f"wrk.path = {json.dumps(path)}", f"wrk.body = [==[{self.body}]==]"]
        lines += [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in self.headers.items()]
        self._script.write("\n".join(lines))
        self._script.flush()

    @property
    def script(self):
        return self._script.name

    def reply(self, api):
        reply = api.request(self.method, self.path, self.body or None, self.headers)
        assert reply.status == self.status, reply
        return reply.text


def load(api, pids, request, connections, seconds=None):
    """Runs wrk once. Returns requests per second, microseconds per request, and the processes' CPU microseconds per
    request."""
    seconds = seconds or SECONDS
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{max(round(seconds), 1)}s", "--timeout", "30s", "--latency"]
    used = cpu(pids)
    out = subprocess.run([*argv, "-s", request.script, f"http://127.0.0.1:{api.port}/"], capture_output=True, text=True, check=True).stdout
    used = cpu(pids) - used
    good = request.status < 400
    assert ("Non-2xx" in out) != good and "Socket errors" not in out, out
    count = int(re.search(r"(\d+) requests in", out)[1])
    if count == 0:  # large answers on a busy machine need more time
        return load(api, pids, request, connections, 4 * seconds)
    took = {}
    for share in ("50%", "99%"):
        number, unit = re.search(rf"^ +{share} +([\d.]+)(\w+) *$", out, re.MULTILINE).groups()
        took[share] = float(number) * MICROSECONDS[unit]
    return {"rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), "CPU": used / count * 1e6, **took}


UNITS = {"rate": "/s", "CPU": "us", "time": "ms", "50%": "us", "99%": "us", "RSS": "MiB", "anonymous": "MiB"}


class Bench:
    """The environment of a case: a folder, programs that end with the case, and the figures."""

    def __init__(self, name, directory):
        self.name, self.directory, self.figures = name, directory, []
        self._stack = contextlib.ExitStack()
        self._made = 0
        self._others = Others()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.close()

    def ends(self, something):
        self._stack.callback(something.stop)
        return something

    def folder(self, name):
        self._made += 1
        folder = self.directory / f"{name}-{self._made}"
        folder.mkdir()
        return folder

    def responder(self, minions=5, binary=None, **changes):
        """Starts rest_fcgi with everything on: logins from a file, audit lines, jobs in SQLite."""
        directory = self.folder("ours")
        users = directory / "passwords"
        users.write_text("saltdev:" + subprocess.run(["openssl", "passwd", "-6", "saltdev"], capture_output=True, text=True, check=True).stdout)
        users.chmod(0o600)
        eauth = {"^filename": str(users), "^filetype": "htpasswd", "saltdev": [".*", "@runner", "@jobs"]}
        own = {"embedded": {"minions": {f"ms-{number}": {} for number in range(minions)}}, **changes.pop("rest_fcgi", {})}
        options = {"external_auth": {"file": eauth}, "log_level": "warning", "rest_fcgi": own, **changes}
        return self.ends(Daemon(directory, options, binary=binary))

    def program(self, name, *arguments, address):
        """Starts a bare rival, the program `name`. The rival ends with the case."""
        return self.ends(Rival(Process([BUILD / name, *map(str, arguments)], self.folder(name) / "log", address)))

    def add(self, at, what, ours, rival=(), rival_name="", unit=None, busy=None):
        """Keeps and prints a figure. By default, `busy` is the share of other programs since the beginning of the
        case."""
        busy = self._others.share() if busy is None else busy
        figure = Figure(self.name, str(at), what, UNITS[what] if unit is None else unit, list(ours), list(rival), rival_name, busy)
        self.figures.append(figure)
        beside = f"; {rival_name} {statistics.median(figure.rival):.4g}, ratio {figure.ratio:.2f}" if figure.rival else ""
        print(f"  {self.name:<10} {figure.at:<34} {what:<10} {figure.middle:10.4g} {figure.unit}{beside}", flush=True)
        return figure

    def in_turns(self, at, rivals, rounds=None, keep=("rate", "CPU", "99%")):
        """Runs `rivals` in turns. Each rival is a function that measures one round, and the first rival is rest_fcgi. Keeps
        a figure for each name in `keep`."""
        runs = {name: [] for name in rivals}
        for once in rivals.values():
            once()  # the first call is a warm-up
        others_of_machine = Others()
        for _ in range(rounds or ROUNDS):
            for name, once in rivals.items():
                runs[name].append(once())
        busy = others_of_machine.share()
        ours, *others = rivals
        for what in keep:
            rival = [run[what] for run in runs[others[0]] if what in run] if others else []
            self.add(at, what, [run[what] for run in runs[ours]], rival, others[0] if rival else "", busy=busy)


class Rival:
    """A process that ends with SIGKILL, because libfcgi's accept loop ignores SIGTERM."""

    def __init__(self, process):
        self._process, self.pid = process, process.pid

    def stop(self):
        self._process.stop(9)


def chosen(words):
    """Returns the cases for words such as `ping` and `mem*`. Without words, returns all cases."""
    names = [name for name in CASES if not words or any(fnmatch.fnmatch(name, word) for word in words)]
    for word in words:
        if not fnmatch.filter(CASES, word):
            sys.exit(f"there is no case {word}; there are {' '.join(CASES)}")
    return names
