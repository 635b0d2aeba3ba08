# SPDX-License-Identifier: MIT
"""Execution functions of a real minion that knows no master."""

import json
import os
import subprocess
import tempfile

from .salts import CALLS, PATIENCE


def run(python, minion, pillar, calls, extension_modules=None):
    """What a minion of that id and pillar, with these modules of its own, returns for each of `calls`, (fun, args, kwargs): {"ret": value}, and
    "raised" where that is the text of an exception; {"missing": true} where it has no such function."""
    with tempfile.TemporaryDirectory() as root:
        own = str(extension_modules) if extension_modules else None
        request = {"id": minion, "pillar": pillar, "root_dir": root, "extension_modules": own, "calls": calls}
        done = subprocess.run(
            [python, "-W", "ignore", CALLS],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
