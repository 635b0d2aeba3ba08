# SPDX-License-Identifier: MIT

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


@contextlib.contextmanager
def limited(daemon, what, most):
    """Sets a resource limit (RLIMIT_*) of the process while the block runs."""
    soft, hard = resource.prlimit(daemon.pid, what)
    resource.prlimit(daemon.pid, what, (most, hard))
    try:
        yield
    finally:
        resource.prlimit(daemon.pid, what, (soft, hard))


class Faults:
    """Faults of a rest_fcgi process that starts inside `preloaded`. REQUIRES: a C compiler."""

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
        """Preloads faults.c into programs that start inside the block."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(self._object))
            patch.setenv("REST_FCGI_TEST_FAULTS", str(self._file))
            yield

    def set_no_threads(self, value):
        """Makes pthread_create fail if `value` is 1. The value 0 ends the failure."""
        struct.pack_into("l", self._memory, 0, value)
