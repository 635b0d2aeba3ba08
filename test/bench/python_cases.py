# SPDX-License-Identifier: MIT
"""The cost of a call of a Python module in a Python with Salt. The rival loads only Salt's exceptions."""

import json
import resource
import subprocess
import time

from harness import LOGIN, case, cpu_of_family
from support import fastcgi, salts

CALLS = 10  # calls in a round
ROUNDS_OF_CALLS = 10
MODULE = "from salt.exceptions import CommandExecutionError\ndef ping():\n    return CommandExecutionError.__name__\n"


def timed(call, used):
    """Returns the milliseconds and the CPU microseconds of a call, measured with CALLS calls."""
    began, had = time.monotonic(), used()
    for _ in range(CALLS):
        call()
    return {"time": (time.monotonic() - began) / CALLS * 1e3, "CPU": (used() - had) / CALLS * 1e6}


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@case("python", "A module that imports salt.exceptions, in a Python that has Salt, against that import alone")
def python(bench):
    folder = bench.folder("modules")
    folder.chmod(0o755)
    (folder / "harmless.py").write_text(MODULE)
    request = fastcgi.request(json.dumps([{**LOGIN, "client": "local", "tgt": "ms-0", "fun": "harmless.ping"}]).encode())
    for series in salts.SERIES:
        interpreter = salts.require(series) / "bin/python"
        ours = bench.responder(rest_fcgi={"embedded": {"minions": {"ms-0": {}}, "python": str(interpreter), "module_dirs": [str(folder)]}})

        def call():
            answer = fastcgi.talk(ours.address, request)
            assert json.loads(answer.body) == {"return": [{"ms-0": "CommandExecutionError"}]}, answer

        def alone():
            subprocess.run([interpreter, "-c", "import salt.exceptions"], check=True)

        rivals = {"ours": lambda: timed(call, lambda: cpu_of_family(ours.pid)), "import": lambda: timed(alone, of_children)}
        bench.in_turns(f"Salt {series}", rivals, ROUNDS_OF_CALLS, keep=("time", "CPU"))
        ours.stop()
