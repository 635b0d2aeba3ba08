# SPDX-License-Identifier: MIT
"""Costs that do not depend on the load of the machine: instructions by callgrind, and system calls by strace.

Most virtual machines have no hardware counters. Instructions of the kernel are not counted.
"""

import json
import re
import signal
import subprocess
import time

from harness import BUILD, LOGIN, PING, case
from support import fastcgi
from support.daemon import BINARY
from support.process import answers, wait_until

TIMES, TIMES_OF_LARGE = 40, 4
STARTS = 600  # seconds for the start, which is slow under valgrind
REQUESTS = {
    "a ping": json.dumps([{**LOGIN, **PING}]),
    "100 pings": json.dumps([{**LOGIN, **PING}] * 100),
    "no credentials": json.dumps([PING]),
    "an argument of 1 MB": json.dumps([{**LOGIN, **PING, "fun": "test.arg_type", "arg": ["x" * 1_000_000]}]),
}


def times_of(body):
    return TIMES if len(body) < 1000 else TIMES_OF_LARGE


def ask(address, body, times):
    request = fastcgi.request(body.encode())
    for _ in range(times):
        assert fastcgi.talk(address, request, STARTS).ended
    time.sleep(0.2)  # the responder still works after its last answer


class Counted:
    """A program under callgrind or strace. The program ends with the case."""

    def __init__(self, bench, argv, address):
        self._folder, self.address = bench.folder("counted"), str(address)
        counting = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self._folder}/calls"]
        self._child = subprocess.Popen([*counting, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.ends(self)
        wait_until(lambda: answers(self.address), "it listens", STARTS)
        self._dumps = 0

    def instructions(self, body):
        times = times_of(body)
        ask(self.address, body, 2)
        self._control("-z")
        ask(self.address, body, times)
        self._control("-d")
        self._dumps += 1
        dump = self._folder / f"calls.{self._dumps}"
        total = wait_until(lambda: dump.exists() and re.search(r"^totals: (\d+)", dump.read_text(errors="replace"), re.MULTILINE), "the dump", STARTS)
        return int(total[1]) / times

    def _control(self, what):
        subprocess.run(["callgrind_control", what, str(self._child.pid)], capture_output=True, check=True)

    def stop(self):
        self._child.kill()
        self._child.wait()


def system_calls(pid, address, body):
    times = times_of(body)
    ask(address, body, 2)
    tracing = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    ask(address, body, times)
    tracing.send_signal(signal.SIGINT)
    table = tracing.communicate()[1]
    return sum(int(calls) for calls, name in re.findall(r"^ *(\d+) (\w+)$", table, re.MULTILINE) if name != "total") / times


@case("counts", "Instructions and system calls of a request on a new connection, against the bare responder")
def counts(bench):
    ours, folder = bench.responder(), bench.folder("bare")
    bare = bench.program("bare", folder / "bare.sock", 2, address=str(folder / "bare.sock"))
    for name, body in REQUESTS.items():
        calls = [[system_calls(pid, address, body)] for pid, address in ((ours.pid, ours.address), (bare.pid, str(folder / "bare.sock")))]
        bench.add(name, "system calls", *calls, "libfcgi", unit="", busy=0)
    ours.stop()
    counted = Counted(bench, [BINARY, "--config", ours.config_path, "--listen", f"unix:{ours.address}"], ours.address)
    rival = Counted(bench, [BUILD / "bare", folder / "counted.sock", "2"], folder / "counted.sock")
    for name, body in REQUESTS.items():
        bench.add(name, "instructions", [counted.instructions(body)], [rival.instructions(body)], "libfcgi", unit="", busy=0)
