# SPDX-License-Identifier: MIT
"""What a responder that runs may have at most; and a clock, and threads, that a test has in its hand (faults.c)."""

import contextlib
import mmap
import os
import pathlib
import resource
import shlex
import struct
import subprocess

import pytest

from .daemon import SANITIZED

_SOURCE = pathlib.Path(__file__).with_name("faults.c")
_FIELDS = {"clock_offset": 0, "no_threads": 8}  # where they are in the mapped file


@contextlib.contextmanager
def limited(daemon, what, most):
    """Meanwhile its process has that `resource.RLIMIT_...`."""
    soft, hard = resource.prlimit(daemon.pid, what)
    resource.prlimit(daemon.pid, what, (most, hard))
    try:
        yield
    finally:
        resource.prlimit(daemon.pid, what, (soft, hard))


class Faults:
    """Faults of one responder, which is to be started in `preloaded`. REQUIRES: a C compiler."""

    def __init__(self, directory):
        if SANITIZED:
            pytest.skip("a sanitizer has to be preloaded itself")
        self._object, self._file = directory / "faults.so", directory / "faults"
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-o", self._object, _SOURCE, "-ldl"], check=True)
        self._file.write_bytes(bytes(4096))
        with open(self._file, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 4096)

    @contextlib.contextmanager
    def preloaded(self):
        """What is started meanwhile has them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(self._object))
            patch.setenv("REST_FCGI_TEST_FAULTS", str(self._file))
            yield

    def set(self, name, value):
        """`clock_offset`: seconds that its clock is ahead; `no_threads`: 1 where none can be started."""
        struct.pack_into("l", self._memory, _FIELDS[name], value)
