# SPDX-License-Identifier: MIT
"""File systems that tests may fill, and one whose power can be cut. They are mounted where this process and what it
starts see them, and nobody else. Needs root: `private_mounts` says aloud where it is missing."""

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
_EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
_NO_LOG_FLUSH = struct.pack("I", 2)  # nothing reaches the disk any more, the journal's last part neither
_WRITE_AND_WAIT = 1 | 2 | 4  # flags of sync_file_range(2)


def _checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _run(*argv):
    subprocess.run(argv, check=True, capture_output=True)


@contextlib.contextmanager
def private_mounts():
    """Mounts of this thread, and of the threads and programs that it starts meanwhile, are nobody else's, and end with
    them. No thread that was started meanwhile may be left at the end."""
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
    """A file system of that size in memory, at `path`. REQUIRES: `private_mounts`."""
    path.mkdir(exist_ok=True, mode=0o700)
    _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path)
    yield path
    _run("umount", "--lazy", path)


def fill(folder):
    """Takes all that is left of the file system. The path of what has to be removed, so that there is room again."""
    filler = folder / "filler"
    with open(filler, "ab", buffering=0) as file, contextlib.suppress(OSError):
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return filler


class Disk:
    """ext4 on a loop device over a file in memory, at `path`, whose power can be cut: what was not synchronized is then
    lost. REQUIRES: `private_mounts`, and that nobody has a file of it open when its power comes back, or in `close`."""

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
        """Of what was written and not synchronized, some pages reach the disk at once, by chance, and others do not."""
        for path in self.path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and (size := path.stat().st_size):
                    with open(path, "rb") as file:
                        begin = chance.randrange(size)
                        length = chance.choice((4096, 16384, size))
                        arguments = (ctypes.c_int64(begin), ctypes.c_int64(length), _WRITE_AND_WAIT)
                        _checked(_libc.sync_file_range(file.fileno(), *arguments))

    def cut(self):
        """Its power goes. What is written from now on fails, or is lost as well."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _EXT4_IOC_SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def power_up(self):
        """What it has is what was on the disk."""
        _run("umount", self.path)
        self._mount()

    def close(self):
        _run("umount", self.path)
        self._image.close()
