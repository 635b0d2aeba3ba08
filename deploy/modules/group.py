# SPDX-License-Identifier: MIT

import grp


def getent(refresh=False):
    """
    Return the information of ``group.info`` about all groups.

    CLI Example:

        salt '*' group.getent
    """
    return [_about(group) for group in grp.getgrall()]


def info(name):
    """
    Return the information about a group, or an empty map if the group does not exist.

    CLI Example:

        salt '*' group.info root
    """
    try:
        return _about(grp.getgrnam(name))
    except KeyError:
        return {}


def _about(group):
    return {"name": group.gr_name, "passwd": group.gr_passwd, "gid": group.gr_gid, "members": group.gr_mem}
