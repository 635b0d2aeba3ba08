# SPDX-License-Identifier: MIT
"""A hostile execution module. The module tries to access rest_fcgi in many ways and reports the outcomes."""

import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

PTRACE_ATTACH = 16


def _writes(path):
    with open(path, "ab") as file:
        file.write(b"stolen")


def _reads(path):
    with open(path, "rb") as file:
        file.read(1)


def _opens(path):
    with open(path, "rb"):
        pass


def _replaces(path):
    own = f"{path}.{os.getpid()}"
    with open(own, "xb"):
        pass
    try:
        os.rename(own, path)
    finally:
        if os.path.exists(own):
            os.unlink(own)


def _links(path):
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        own = f"{folder}/link-{os.getpid()}-{abs(hash(path))}"
        try:
            os.link(path, own)
            os.unlink(own)
            return
        except OSError as error:
            denied = error
    raise denied


def _makes_beside(path):
    with open(f"{path}.stolen", "xb"):
        os.unlink(f"{path}.stolen")


def _connects(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(path)


def _attaches(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_ATTACH, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _reads_memory_of(pid):
    with open(f"/proc/{pid}/maps") as maps:
        if not maps.read(1):
            raise PermissionError("no maps")


def _dumps_core():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0:
        raise PermissionError("no cores")


def _runs(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    if done.returncode != 0:
        raise PermissionError(str(done.stderr[:80]))


def _makes_setuid():
    path = shutil.copy("/bin/true", tempfile.mkdtemp() + "/true")
    os.chmod(path, 0o4755)


def _ways_to_file(path):
    yield f"read {path}", _reads, path
    yield f"write {path}", _writes, path
    yield f"truncate {path}", lambda name: os.truncate(name, 0), path
    yield f"chmod {path}", lambda name: os.chmod(name, 0o777), path
    yield f"chown {path}", lambda name: os.chown(name, os.getuid(), -1), path
    yield f"link {path}", _links, path
    yield f"make a file beside {path}", _makes_beside, path
    yield f"move {path}", lambda name: os.rename(name, name + ".moved"), path
    yield f"replace {path}", _replaces, path
    yield f"remove {path}", os.unlink, path


def _ways_to_process(pid):
    for name in ("environ", "auxv"):
        yield f"read {name} of {pid}", _reads, f"/proc/{pid}/{name}"
    yield f"open mem of {pid}", _opens, f"/proc/{pid}/mem"
    yield f"maps of {pid}", _reads_memory_of, pid
    for name in ("fd", "root/etc", "cwd/."):
        yield f"list {name} of {pid}", os.listdir, f"/proc/{pid}/{name}"
    yield f"attach to {pid}", _attaches, pid
    yield f"signal {pid}", lambda other: os.kill(other, signal.SIGUSR2), pid


def _other_ways(uid):
    yield "become root", os.setuid, 0
    yield "mount", _runs, "mount", "-t", "tmpfs", "tmpfs", tempfile.mkdtemp()
    yield "a namespace", _runs, "unshare", "-r", "true"
    yield "su", _runs, "su", "-c", "true"
    yield "stop the service", _runs, "systemctl", "stop", "rest_fcgi.service"
    yield "a unit of its own", _runs, "systemd-run", "true"
    yield "a program that is another user's", _makes_setuid
    yield "core files", _dumps_core
    yield "become the responder", os.setuid, uid


def attempts(files, sockets, pids, uid):
    """Returns a map from each attempt to `done` or the error."""
    tries = [way for path in files for way in _ways_to_file(path)]
    tries += [(f"connect to {path}", _connects, path) for path in sockets]
    tries += [way for pid in pids for way in _ways_to_process(pid)]
    tries += _other_ways(uid)
    outcome = {}
    for name, act, *args in tries:
        try:
            act(*args)
            outcome[name] = "done"
        except Exception as error:
            outcome[name] = f"{type(error).__name__}: {error}"
    return outcome


def whoami():
    return [os.getuid(), open("/proc/self/status").read()]


def eats():
    return len(b"x" * (3 << 30))


if __name__ == "__main__":
    import json

    print(json.dumps(attempts(**json.loads(sys.argv[1]))))
