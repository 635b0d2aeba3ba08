# SPDX-License-Identifier: MIT

import grp
import os
import pwd


def getent(refresh=False):
    """
    Return the information of ``user.info`` about all users.

    CLI Example:

        salt '*' user.getent
    """
    return [_about(user) for user in pwd.getpwall()]


def info(name):
    """
    Return the information about a user, or an empty map if the user does not exist.

    CLI Example:

        salt '*' user.info root
    """
    try:
        return _about(pwd.getpwnam(name))
    except KeyError:
        return {}


def list_groups(name):
    """
    Return the names of the groups of a user.

    CLI Example:

        salt '*' user.list_groups root
    """
    try:
        numbers = os.getgrouplist(name, pwd.getpwnam(name).pw_gid)
    except KeyError:
        return []
    return sorted(group.gr_name for group in grp.getgrall() if group.gr_gid in numbers)


def list_users():
    """
    Return the names of all users.

    CLI Example:

        salt '*' user.list_users
    """
    return sorted(user.pw_name for user in pwd.getpwall())


def primary_group(name):
    """
    Return the name of a user's primary group.

    CLI Example:

        salt '*' user.primary_group root
    """
    return __salt__["cmd.run"](["id", "-g", "-n", name])


def _about(user):
    fullname, room, work, home, other = (user.pw_gecos.split(",", 4) + [""] * 4)[:5]
    return {
        "uid": user.pw_uid,
        "gid": user.pw_gid,
        "groups": list_groups(user.pw_name),
        "home": user.pw_dir,
        "name": user.pw_name,
        "passwd": user.pw_passwd,
        "shell": user.pw_shell,
        "fullname": fullname,
        "roomnumber": room,
        "workphone": work,
        "homephone": home,
        "other": other,
    }
