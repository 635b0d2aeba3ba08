# SPDX-License-Identifier: MIT

import os


def get(key, default=""):
    """
    Return a variable, or ``default`` if the variable does not exist.

    CLI Example:

        salt '*' environ.get PATH
    """
    return os.environ.get(key, default) if isinstance(key, str) else False


def has_value(key, value=None):
    """
    Return whether a variable exists. With ``value``, return whether the variable has this value.

    CLI Example:

        salt '*' environ.has_value PATH
    """
    return isinstance(key, str) and key in os.environ and value in (None, os.environ[key])


def item(keys, default=""):
    """
    Return the named variables. A variable that does not exist has the value ``default``.

    CLI Example:

        salt '*' environ.item '[PATH, LANG]'
    """
    keys = [keys] if isinstance(keys, str) else keys if isinstance(keys, list) else []
    return {key: os.environ.get(key, default) for key in keys}


def items():
    """
    Return all variables.

    CLI Example:

        salt '*' environ.items
    """
    return dict(os.environ)
