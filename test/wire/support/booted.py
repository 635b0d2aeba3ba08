# SPDX-License-Identifier: MIT
"""A booted host with the installed files. systemd runs as process 1 of new namespaces.

The booted host sees the files of this host and keeps its changes in memory. It has no system bus.
Tests need root and writable cgroups."""

import os
import pathlib
import subprocess

from .make import install
from .process import TIMEOUT, wait_until

BOOT = r"""
set -e
home=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$home/state"
mkdir "$home/state/up" "$home/state/work"
cp -a "$home/installed/." "$home/state/up"
mount -t overlay overlay -o "lowerdir=/,upperdir=$home/state/up,workdir=$home/state/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" -o ro
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
if [ -d /sys/fs/cgroup/systemd ]; then
    for name in systemd memory pids; do mkdir "$root/sys/fs/cgroup/$name"; done
    mount -t cgroup cgroup -o none,name=systemd "$root/sys/fs/cgroup/systemd"
    for name in memory pids; do mount -t cgroup cgroup -o $name "$root/sys/fs/cgroup/$name"; done
else
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
mount -t tmpfs tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
printf '[Unit]\nDefaultDependencies=no\n' > "$root/etc/systemd/system/booted.target"
echo $$ > "$home/begun"
cd "$root"
pivot_root . .  # chroot would forbid user namespaces
umount --lazy .
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=booted.target --log-target=null
"""
CGROUPS = [path for path in map(pathlib.Path, ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids")) if path.is_dir()]
CGROUPS = CGROUPS or [pathlib.Path("/sys/fs/cgroup")]
SPACES = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]


class BootFailed(Exception):
    """The host cannot boot."""


class Booted:
    """The booted host. `files` maps paths to texts, and `master` is the text of /etc/rest_fcgi/master.
    Without `master` the program is not installed."""

    def __init__(self, directory, master, files):
        if os.geteuid() != 0:
            raise BootFailed("only root can boot")
        self._home = directory
        for name in ("installed", "state", "root"):
            (directory / name).mkdir()
        if master:
            install(DESTDIR=directory / "installed", PREFIX="/usr")
            files = {"etc/rest_fcgi/master": master, **files}
        for path, text in files.items():
            (directory / "installed" / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / "installed" / path).write_text(text)
        self._groups = [path / f"rest_fcgi-test-{os.getpid()}" for path in CGROUPS]
        self._boot()
        try:
            wait_until(lambda: self.run("systemctl", "is-system-running", check=False).strip() == "running", "the host has booted")
        except AssertionError as error:
            self.stop()
            raise BootFailed(str(error)) from error
        if not master:
            return
        self.run("systemd-sysusers")
        self.run("systemd-tmpfiles", "--create", "rest_fcgi.conf")

    def _boot(self):
        try:
            for group in self._groups:
                group.mkdir()
        except OSError as error:
            raise BootFailed(f"no cgroup can be made: {error}") from error
        enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in self._groups)
        argv = ["sh", "-c", f'{enter}exec "$@"', "-", "unshare", "--fork", "--kill-child", *SPACES, "sh", "-c", BOOT, "-", self._home]
        with open(self._home / "boot.log", "w") as log:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True)
        try:
            wait_until(lambda: (self._home / "begun").exists() or self._process.poll() is not None, "the host boots")
            if self._process.poll() is not None:
                raise BootFailed((self._home / "boot.log").read_text().strip())
        except BaseException:
            self.stop()
            raise
        (child,) = pathlib.Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        self.init = int(child)
        self.enter = ["nsenter", "-t", child, *SPACES, "--root", "--wd=/"]  # a program as root on the booted host

    def run(self, *argv, check=True, stdin=""):
        """Runs a program as root on the booted host. Returns the output of the program."""
        done = subprocess.run([*self.enter, *argv], input=stdin, capture_output=True, text=True, timeout=2 * TIMEOUT)
        assert done.returncode == 0 or not check, (argv, done)
        return done.stdout + ("" if check else done.stderr)

    def status(self, *argv):
        """Runs a program as root on the booted host. Returns its exit status and its output."""
        done = subprocess.run([*self.enter, *argv], stdin=subprocess.DEVNULL, stdout=-1, stderr=-2, text=True, timeout=10 * TIMEOUT)
        return done.returncode, done.stdout

    def outside(self, path):
        """Returns the path by which the test can read a file of the booted host."""
        return pathlib.Path(f"/proc/{self.init}/root{path}")

    def stop(self):
        self._process.kill()
        self._process.wait(TIMEOUT)
        for group in self._groups:
            wait_until(lambda group=group: self._left(group), "the processes of the host have ended")

    @staticmethod
    def _left(group):
        for path in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            _remove(path)
        return _remove(group)


def _remove(group):
    try:
        group.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True
