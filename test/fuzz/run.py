# SPDX-License-Identifier: MIT
"""Runs fuzz targets, one on each processor: run.py FUZZER FOLDER SECONDS [TARGET...]

FOLDER/NAME has the corpus of a target, FOLDER/NAME.log has the output, and FOLDER/broke has inputs that broke a target.
A small interesting input goes to test/fuzz/seeds/NAME under a descriptive name.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = ",".join(str(path) for path in sorted((HERE.parent / "vectors").glob("*.bin")))  # bytes of real masters


def names(fuzzer):
    """Returns all targets with the size of their largest input."""
    listed = subprocess.run([fuzzer], env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}, capture_output=True, text=True, check=True)
    return dict(line.split() for line in listed.stdout.splitlines())


def run(fuzzer, folder, seconds, name, most):
    """Runs a target. Returns whether the run found no error, and a line about the run."""
    corpus, broke, log = folder / name, folder / "broke", folder / f"{name}.log"
    for each in (corpus, broke):
        each.mkdir(parents=True, exist_ok=True)
    dictionary = HERE / f"{name}.dict"
    command = [fuzzer, f"-max_total_time={seconds}", f"-max_len={most}", "-timeout=10", "-rss_limit_mb=1500", "-print_final_stats=1",
               f"-artifact_prefix={broke}/{name}-", *([f"-dict={dictionary}"] if dictionary.exists() else []), corpus,
               HERE / "seeds" / name, *([f"-seed_inputs={RECORDED}"] if name in ("msgpack", "bus") else [])]  # fmt: skip
    # The fuzz targets keep temporary files in memory (/dev/shm). If a sanitizer finds an error, the run ends.
    environment = os.environ | {
        "FUZZ_TARGET": name,
        "TMPDIR": "/dev/shm",
        "LSAN_OPTIONS": "suppressions=test/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    with log.open("wb") as output:
        code = subprocess.run(command, env=environment, stdout=output, stderr=output, check=False).returncode
    said = log.read_text(errors="replace")
    executions = re.findall(r"stat::number_of_executed_units: +(\d+)", said)
    edges = re.findall(r" cov: (\d+)", said)
    line = f"{name:12} {seconds:6} s {(executions or ['?'])[-1]:>10} inputs {(edges or ['?'])[-1]:>6} edges {len(list(corpus.iterdir())):6} kept"
    if code:
        what = re.findall(r"^(?:SUMMARY|.*what\(\)|.*runtime error|.*Test unit written to).*", said, re.M)
        line += "\n    " + "\n    ".join(what or said.splitlines()[-5:])
    return not code, line


def main(fuzzer, folder, seconds, *chosen):
    targets = names(fuzzer)
    if unknown := set(chosen) - set(targets):
        sys.exit(f"no such target: {' '.join(unknown)}; there are {' '.join(targets)}")
    fine = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(run, fuzzer, Path(folder), int(seconds), name, targets[name]) for name in chosen or targets]
        for job in concurrent.futures.as_completed(jobs):
            well, line = job.result()
            fine = fine and well
            print(line, flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main(*sys.argv[1:])
