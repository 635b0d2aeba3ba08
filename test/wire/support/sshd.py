# SPDX-License-Identifier: MIT

import contextlib
import getpass
import os
import shutil
import subprocess

import pytest

from .process import answers, free_port, wait_until

PROGRAM = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


class Sshd:
    """Starts sshd. `folder` holds sshd's keys and Salt's files on the target host."""

    def __init__(self, folder):
        if not PROGRAM or not shutil.which("ssh-keygen"):
            pytest.skip("no sshd here: Debian has it in openssh-server")
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        for name in ("host", "user", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        settings = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": folder / "host",
            "AuthorizedKeysFile": folder / "user.pub",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "Subsystem": "sftp internal-sftp",
        }
        (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with open(folder / "log", "wb") as log:
            self._child = subprocess.Popen([PROGRAM, "-D", "-e", "-f", folder / "config"], stdin=subprocess.DEVNULL, stderr=log)
        try:
            wait_until(lambda: answers(("127.0.0.1", self.port)) or self._child.poll() is not None, "sshd listens")
        except AssertionError:
            self.stop()
            raise
        if self._child.poll() is not None:
            pytest.skip(f"no sshd here: {(folder / 'log').read_text()}")

    def host(self, **changes):
        """Returns the entry of this sshd for Salt's roster."""
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "priv": str(self.folder / "user"),
            "thin_dir": str(self.folder / "thin"),
            "set_path": "/usr/bin:/bin",
            "ssh_options": ["StrictHostKeyChecking=no", f"UserKnownHostsFile={self.folder}/known"],
            **changes,
        }

    def stop(self):
        self._child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(10)
        self._child.kill()
        self._child.wait(10)
