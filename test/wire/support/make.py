# SPDX-License-Identifier: MIT

import os
import subprocess

from .daemon import BINARY, ROOT


def make(*args):
    """Runs make without the variables of an outer make."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", "-C", ROOT, "-s", *args], capture_output=True, text=True, timeout=600, env=clean)


def install(verb="install", **variables):
    """Installs or uninstalls the tested program without building."""
    words = [f"{name}={value}" for name, value in variables.items()]
    result = make(verb, *words, f"BUILD={BINARY.parent}", "AS_BUILT=1")
    assert result.returncode == 0, result.stderr
