# SPDX-License-Identifier: MIT
"""What the host knows of groups. Nothing is changed."""

import grp


def getent(refresh=False):
    """
    Return what ``group.info`` returns, of all groups.

    CLI Example:

        salt '*' group.getent
    """
    return [_about(group) for group in grp.getgrall()]


def info(name):
    """
    Return what is known of a group; an empty map where there is none.

    CLI Example:

        salt '*' group.info root
    """
    try:
        return _about(grp.getgrnam(name))
    except KeyError:
        return {}


def _about(group):
    return {"name": group.gr_name, "passwd": group.gr_passwd, "gid": group.gr_gid, "members": group.gr_mem}
