# SPDX-License-Identifier: MIT

import fnmatch
import os
import pwd
import re
import time

from salt.exceptions import CommandExecutionError

__func_alias__ = {"time_": "time"}

CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
DISK = (
    "major minor device reads_issued reads_merged sectors_read ms_spent_reading writes_completed writes_merged "
    "sectors_written ms_spent_writing io_in_progress ms_spent_in_io weighted_ms_spent_in_io"
).split()
NET = (
    "rx_bytes rx_packets rx_errs rx_drop rx_fifo rx_frame rx_compressed rx_multicast "
    "tx_bytes tx_packets tx_errs tx_drop tx_fifo tx_colls tx_carrier tx_compressed"
).split()
USER_PROCESS = 7
UTMP_RECORD = 384


def loadavg():
    """
    Return the load averages.

    CLI Example:

        salt '*' status.loadavg
    """
    return dict(zip(("1-min", "5-min", "15-min"), os.getloadavg()))


def uptime():
    """Return how long the host has been running, and how many users are logged in."""
    seconds = int(float(_read("uptime").split()[0]))
    since = time.time() - seconds
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
    return {
        "seconds": seconds,
        "since_iso": f"{moment}.{int(since % 1 * 1e6):06}",
        "since_t": int(since),
        "days": seconds // 86400,
        "time": f"{seconds % 86400 // 3600}:{seconds % 3600 // 60}",
        "users": _logged_in(),
    }


def nproc():
    """Return the number of usable processors."""
    return len(os.sched_getaffinity(0))


def cpuinfo():
    """Return the kernel's information about the last processor."""
    found = {}
    for line in _read("cpuinfo").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found[key.strip()] = value.split(":")[0].strip()
    return {key: value.split() if key == "flags" else value for key, value in found.items()}


def cpustats():
    """
    Return the numbers of /proc/stat.

    CLI Example:

        salt '*' status.cpustats
    """
    found = {}
    for name, *numbers in _rows("stat"):
        if name == "cpu":
            found[name] = dict(zip(CPU, numbers))
        elif name in ("intr", "softirq"):
            found[name] = {"total": numbers[0], "irqs" if name == "intr" else "softirqs": numbers[1:]}
        else:
            found[name] = numbers[0]
    return found


def meminfo():
    """Return the numbers of /proc/meminfo."""
    found = {}
    for line in _read("meminfo").splitlines():
        key, _, value = line.partition(":")
        found[key] = dict(zip(("value", "unit"), value.split()))
    return found


def vmstats():
    """Return the numbers of /proc/vmstat."""
    return {name: number for name, number in _rows("vmstat")}


def diskstats():
    """Return the numbers of all block devices."""
    return {row[2]: dict(zip(DISK, row)) for row in _rows("diskstats") if len(row) >= len(DISK)}


def netdev():
    """Return the numbers of all network devices."""
    found = {}
    for line in _read("net/dev").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        found[name.strip()] = {"iface": name.strip(), **dict(zip(NET, map(int, numbers.split())))}
    return found


def diskusage(*args):
    """
    Return the size and the free space of file systems in bytes. The arguments select paths and types.

    CLI Example:

        salt '*' status.diskusage / 'ext?'
    """
    paths = [path for path in args if path.startswith("/")]
    types = [kind for kind in args if not kind.startswith("/")] or ([] if paths else ["*"])
    found = {path: _space(path) for path in paths}
    for _, point, kind, *_ in _rows("mounts"):
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), str(point))
        if point not in found and any(fnmatch.fnmatch(kind, one) for one in types):
            try:
                found[point] = _space(point)
            except OSError:
                pass  # this user cannot read the file system
    return found


def procs():
    """Return the users and the command lines of all processes, by pid."""
    return {str(pid): {"user": user, "cmd": command} for pid, user, command in _processes()}


def pid(sig):
    """
    Return the pids of the processes that a regular expression matches, one pid on each line. The expression is searched
    in the user, the pid and the command line.

    CLI Example:

        salt '*' status.pid nginx
    """
    own = (os.getpid(), os.getppid())
    lines = ((number, f"{user} {number} {command}") for number, user, command in _processes() if number not in own)
    return "\n".join(str(number) for number, line in lines if re.search(sig, line))


def time_(format="%A, %d. %B %Y %I:%M%p"):
    """
    Return the local time.

    CLI Example:

        salt '*' status.time '%s'
    """
    return time.strftime(format)


def version():
    """Return the version of the running kernel, as text."""
    return _read("version").strip()


def all_status():
    """Return the results of most functions of ``status`` in one map."""
    parts = (cpuinfo, cpustats, diskstats, diskusage, loadavg, meminfo, netdev, uptime, vmstats)
    return {part.__name__: part() for part in parts}


def _read(name):
    try:
        with open(f"/proc/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        raise CommandExecutionError(f"File /proc/{name} was not found.") from None


def _rows(name):
    """Yields the words of each line of a file in /proc. Numbers are integers."""
    for line in _read(name).splitlines():
        if line.strip():
            yield [int(word) if word.isdigit() else word for word in line.split()]


def _space(path):
    status = os.statvfs(path)
    return {"available": status.f_bavail * status.f_bsize, "total": status.f_blocks * status.f_bsize}


def _logged_in():
    try:
        with open("/run/utmp", "rb") as file:
            records = file.read()
    except OSError:
        return 0
    return sum(1 for at in range(0, len(records), UTMP_RECORD) if records[at] == USER_PROCESS)


def _processes():
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            command = " ".join(_read(f"{pid}/cmdline").replace("\0", " ").split())
            command = command or f"[{_read(f'{pid}/comm').strip()}]"
            owner = os.stat(f"/proc/{pid}").st_uid
        except (OSError, CommandExecutionError):
            continue
        try:
            user = pwd.getpwuid(owner).pw_name
        except KeyError:
            user = str(owner)
        yield pid, user, command
