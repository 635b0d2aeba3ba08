# SPDX-License-Identifier: MIT
"""The cases of inner.cc, which uses Google Benchmark."""

import json
import subprocess

from harness import BUILD, ROUNDS, case

LARGEST = "1000000"


@case("inner", "MB a second of one processor: parsing and checking a lowstate list, and msgpack to JSON text")
def inner(bench):
    argv = [BUILD / "inner", "--benchmark_format=json", f"--benchmark_repetitions={ROUNDS}", "--benchmark_min_time=0.1"]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    speeds = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] == "iteration":
            name, size = run["run_name"].split("/")
            # The rate is per second of CPU time, so other programs do not affect it.
            speeds.setdefault((name, size), []).append(run["bytes_per_second"] / 1e6)
    for (name, size), found in speeds.items():
        if size == LARGEST:
            bench.add(name, "speed", found, unit="MB/s")
        bench.add(size, name, [int(size) / speed for speed in found], unit="us")
