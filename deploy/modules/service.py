# SPDX-License-Identifier: MIT

import fnmatch
import glob
import os
import re

from salt.exceptions import CommandExecutionError, SaltInvocationError

__func_alias__ = {"reload_": "reload", "unmask_": "unmask"}

TYPES = (".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer")
FOLDERS = ("/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system")


def __virtual__():
    if os.path.isdir("/run/systemd/system"):
        return True
    return False, "the host was not booted with systemd"


def available(name):
    """
    Return whether a unit exists.

    CLI Example:

        salt '*' service.available sshd
    """
    return 0 <= _systemctl("status", "--lines=0", unit=name)["retcode"] < 4  # status 4 means an unknown unit


def missing(name):
    """
    Return whether a unit does not exist.

    CLI Example:

        salt '*' service.missing sshd
    """
    return not available(name)


def status(name, sig=None):
    """
    Return whether a unit is active. For a pattern, return a map of all matching units.

    CLI Example:

        salt '*' service.status 'ssh*'
    """
    if re.search(r"[*?]|\[.+\]", name):
        return {one: status(one) for one in fnmatch.filter(get_all(), name)}
    return _systemctl("is-active", unit=name)["retcode"] == 0


def enabled(name):
    """
    Return whether a unit starts at boot.

    CLI Example:

        salt '*' service.enabled sshd
    """
    return _systemctl("is-enabled", unit=name)["retcode"] == 0


def disabled(name):
    """
    Return whether a unit does not start at boot.

    CLI Example:

        salt '*' service.disabled sshd
    """
    return not enabled(name)


def masked(name, runtime=False):
    """Return whether a unit is masked. With ``runtime``, return whether the unit is masked until the next boot."""
    folder = "/run" if runtime else "/etc"
    path = f"{folder}/systemd/system/{_unit(name)}"
    return os.path.islink(path) and os.readlink(path) == "/dev/null"


def get_all():
    """Return the names of all units that have a unit file."""
    return sorted({_shown(path) for folder in FOLDERS for path in glob.glob(f"{folder}/*") if path.endswith(TYPES)})


def get_running():
    """Return the names of the running units."""
    return _listed("list-units", 3, "running")


def get_enabled():
    """Return the names of the enabled units."""
    return _listed("list-unit-files", 1, "enabled")


def get_disabled():
    """Return the names of the disabled units."""
    return _listed("list-unit-files", 1, "disabled")


def get_static():
    """Return the names of the units that can be neither enabled nor disabled."""
    return _listed("list-unit-files", 1, "static")


def show(name):
    """Return the properties of a unit."""
    properties = {}
    for line in _systemctl("show", unit=name)["stdout"].splitlines():
        key, _, value = line.partition("=")
        if value.startswith("{"):
            pairs = (item.partition("=") for item in value.strip("{} ").split(" ; "))
            properties[key] = {part.strip(): text.strip() for part, _, text in pairs}
        else:
            properties[key] = value.split() if key in ("Before", "After", "Wants") else value
    return properties


def start(name, no_block=False, unmask=False, unmask_runtime=False):
    """
    Start a unit.

    CLI Example:

        salt '*' service.start sshd
    """
    return _change("start", name, no_block, unmask, unmask_runtime)


def stop(name, no_block=False):
    """
    Stop a unit. Return whether the unit stopped.

    CLI Example:

        salt '*' service.stop sshd
    """
    __context__["retcode"] = _attempt("stop", name, no_block)
    return __context__["retcode"] == 0


def restart(name, no_block=False, unmask=False, unmask_runtime=False):
    """
    Restart a unit.

    CLI Example:

        salt '*' service.restart sshd
    """
    return _change("restart", name, no_block, unmask, unmask_runtime)


def reload_(name, no_block=False, unmask=False, unmask_runtime=False):
    """Make a unit read its configuration again."""
    return _change("reload", name, no_block, unmask, unmask_runtime)


def force_reload(name, no_block=True, unmask=False, unmask_runtime=False):
    """Make a unit read its configuration again. A unit that cannot reload is restarted."""
    return _change("force-reload", name, no_block, unmask, unmask_runtime)


def enable(name, no_block=False, unmask=False, unmask_runtime=False):
    """Make a unit start at boot."""
    return _change("enable", name, no_block, unmask, unmask_runtime)


def disable(name, no_block=False):
    """Prevent a unit from starting at boot. Return whether the change succeeded."""
    return _attempt("disable", name, no_block) == 0


def mask(name, runtime=False):
    """Prevent every start of a unit. With ``runtime``, the change ends at the next boot."""
    _read_changes(name)
    return _demand("mask", *_flags(runtime, "--runtime"), unit=name)


def unmask_(name, runtime=False):
    """
    Undo ``service.mask``.

    CLI Example:

        salt '*' service.unmask sshd
    """
    _read_changes(name)
    return not masked(name, runtime) or _demand("unmask", *_flags(runtime, "--runtime"), unit=name)


def systemctl_reload():
    """Make systemd read its unit files again."""
    return _demand("daemon-reload")


def _unit(name):
    """Returns the full name of a unit. Raises an error for names that systemctl reads as an option or a pattern."""
    if not re.fullmatch(r"[A-Za-z0-9:_\\@][A-Za-z0-9:_.\\@-]{0,244}", str(name)):
        raise SaltInvocationError(
            f"'{name}' cannot be the name of a unit: it has letters, digits and :-_.\\@, at most 245 of them, and does "
            "not begin with a dash or a dot."
        )
    return name if str(name).endswith(TYPES) else f"{name}.service"


def _shown(path):
    name = os.path.basename(path)
    return name[: -len(".service")] if name.endswith(".service") else name


def _flags(wanted, flag):
    return [flag] if wanted else []


def _systemctl(*words, unit=None):
    command = ["systemctl", "--no-pager", *words] + (["--", _unit(unit)] if unit is not None else [])
    return __salt__["cmd.run_all"](command, ignore_retcode=True)


def _demand(*words, unit=None):
    result = _systemctl(*words, unit=unit)
    if result["retcode"] != 0:
        raise CommandExecutionError(result["stderr"] or f"systemctl {words[0]} failed")
    return True


def _listed(action, column, state):
    """Returns the units in a list of systemctl whose column has the state."""
    lines = _systemctl(action, "--full", "--no-legend", "--plain")["stdout"].splitlines()
    rows = (line.split() for line in lines)
    return sorted({_shown(row[0]) for row in rows if len(row) > column and row[column] == state and row[0].endswith(TYPES)})


def _read_changes(name):
    """Makes systemd reload its unit files if the file of this unit has changed."""
    if _systemctl("show", "--property=NeedDaemonReload", unit=name)["stdout"] == "NeedDaemonReload=yes":
        _demand("daemon-reload")


def _change(action, name, no_block, unmask, unmask_runtime):
    _read_changes(name)
    if unmask:
        unmask_(name)
    if unmask_runtime:
        unmask_(name, runtime=True)
    return _demand(action, *_flags(no_block, "--no-block"), unit=name)


def _attempt(action, name, no_block):
    _read_changes(name)
    return _systemctl(action, *_flags(no_block, "--no-block"), unit=name)["retcode"]
