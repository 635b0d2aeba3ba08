# SPDX-License-Identifier: MIT
"""File systems of limited size, and a disk that can lose its power.

Only this process and its children see the mounts. Tests need root."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import struct
import subprocess
import tempfile

import pytest

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS = 0x00020000
_EXT4_IOC_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = struct.pack("I", 2)  # the power cut also drops the unwritten part of the journal
_WRITE_AND_WAIT = 1 | 2 | 4


def _checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _run(*argv):
    subprocess.run(argv, check=True, capture_output=True)


@contextlib.contextmanager
def private_mounts():
    """Makes new mounts of this thread and its children private and temporary.
    REQUIRES: threads that start inside the block end before the block ends."""
    with open("/proc/thread-self/ns/mnt") as before:
        try:
            _checked(_libc.unshare(_CLONE_NEWNS))
            _run("mount", "--make-rprivate", "/")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"mounts of our own need root: {error}")
        try:
            yield
        finally:
            _checked(_libc.setns(before.fileno(), _CLONE_NEWNS))


@contextlib.contextmanager
def small(path, size="1m"):
    path.mkdir(exist_ok=True, mode=0o700)
    _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path)
    yield path
    _run("umount", "--lazy", path)


def fill(folder):
    """Fills the file system. Returns the path of the file that fills it."""
    filler = folder / "filler"
    with open(filler, "ab", buffering=0) as file, contextlib.suppress(OSError):
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return filler


class Disk:
    """An ext4 file system in memory. A power cut loses data that was not synchronized.
    REQUIRES: `private_mounts`, and no open file at `power_up` and `close`."""

    def __init__(self, path, size=256 << 20):
        self.path = path
        path.mkdir()
        self._image = tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="rest_fcgi-disk-")
        self._image.truncate(size)
        try:
            _run("mkfs.ext4", "-q", "-F", self._image.name)
            self._mount()
        except (OSError, subprocess.CalledProcessError) as error:
            self._image.close()
            pytest.skip(f"no ext4 on a loop device here: {error}")

    def _mount(self):
        _run("mount", "-o", "loop", self._image.name, self.path)
        devices = [line.split()[0] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                   if line.split()[1] == str(self.path)]
        assert len(devices) == 1 and devices[0].startswith("/dev/loop"), devices

    def write_some(self, chance):
        """Writes random pages of unsynchronized files to the disk."""
        for path in self.path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and (size := path.stat().st_size):
                    with open(path, "rb") as file:
                        begin = chance.randrange(size)
                        length = chance.choice((4096, 16384, size))
                        arguments = (ctypes.c_int64(begin), ctypes.c_int64(length), _WRITE_AND_WAIT)
                        _checked(_libc.sync_file_range(file.fileno(), *arguments))

    def cut(self):
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _EXT4_IOC_SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def power_up(self):
        """Mounts the disk with the data that reached the disk."""
        _run("umount", self.path)
        self._mount()

    def close(self):
        _run("umount", self.path)
        self._image.close()
