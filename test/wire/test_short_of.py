# SPDX-License-Identifier: MIT
"""Short of something: room on a disk, descriptors, threads, memory. What was asked is answered, with what is short of, and
all goes on without a restart when there is enough again."""

import pathlib

import pytest

from support.api import local
from support.disk import fill, private_mounts, small
from support.jobs import call


@pytest.fixture
def mounts(directory):
    """They are gone before the directory is removed."""
    with private_mounts():
        yield


def pong(daemon):
    return call(daemon.address, local("test.ping", tgt="ms-0")) == [{"ms-0": True}]


def test_it_starts_while_shared_memory_is_full(mounts, start):
    with small(pathlib.Path("/dev/shm")) as shared_memory:
        fill(shared_memory)
        daemon = start()
        assert pong(daemon)
        assert "jids are unique in this process only: cannot use the shared memory" in daemon.log()
        assert daemon.log().count("No space left on device") == 1
        assert daemon.stop() == 0
