# SPDX-License-Identifier: MIT
"""make, for what is built already."""

import os
import subprocess

from .daemon import BINARY, ROOT


def make(*args):
    """Runs make; the one that runs the tests must not meddle."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "-C", ROOT, "-s", *args], capture_output=True, text=True, timeout=600, env=clean)


def install(verb="install", **variables):
    """Installs what is under test, as it was built."""
    words = [f"{name}={value}" for name, value in variables.items()]
    result = make(verb, *words, f"BUILD={BINARY.parent}", "AS_BUILT=1")
    assert result.returncode == 0, result.stderr
