# SPDX-License-Identifier: MIT

from salt.exceptions import CommandExecutionError

FLAGS = "aBhHiklPtTxv"


def usage(args=None):
    """
    Return the size and the use of all mounted file systems, in units of 1024 bytes.

    CLI Example:

        salt '*' disk.usage
    """
    return {
        point: {
            "filesystem": device,
            "1K-blocks": blocks,
            "used": used,
            "available": available,
            "capacity": capacity,
        }
        for point, (device, blocks, used, available, capacity) in _df("-P", args, "disk.usage")
    }


def inodeusage(args=None):
    """
    Return the number of inodes and of used inodes of all mounted file systems.

    CLI Example:

        salt '*' disk.inodeusage
    """
    return {
        point: {"inodes": inodes, "used": used, "free": free, "use": use, "filesystem": device}
        for point, (device, inodes, used, free, use) in _df("-iP", args, "disk.inodeusage")
    }


def percent(args=None):
    """
    Return the used percentage of all mounted file systems, or of the file system that is mounted at a path.

    CLI Example:

        salt '*' disk.percent /var
    """
    found = {point: columns[4] for point, columns in _df("-P", None, "disk.percent")}
    return found.get(args, {}) if args else found


def _df(columns, flags, caller):
    """Yields the mount point and five more columns of df for each file system."""
    flags = "".join(flags or "")
    if set(flags) - set(FLAGS):
        raise CommandExecutionError(f"Invalid flag passed to {caller}")
    command = ["df", columns] + ([f"-{flags}"] if flags else [])
    # If df cannot read one file system, its exit status is not 0, but it prints the other file systems. The exit status is
    # therefore ignored.
    for line in __salt__["cmd.run_stdout"](command, ignore_retcode=True).splitlines()[1:]:
        words = line.split()
        while len(words) >= 2 and not words[1].isdigit() and words[1] != "-":
            words[:2] = [" ".join(words[:2])]  # the name of the device contains a space
        if len(words) >= 6:
            yield " ".join(words[5:]), words[:5]
