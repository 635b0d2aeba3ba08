# SPDX-License-Identifier: MIT
"""
An execution module as a user writes it for minions. It uses the names that Salt's loader adds to modules, and Python's
standard library.
"""

import functools
import json
import logging
import os.path

from os.path import basename  # a function of another module

from salt.exceptions import CommandExecutionError, CommandNotFoundError, SaltInvocationError

log = logging.getLogger(__name__)

__virtualname__ = "shop"
__func_alias__ = {"list_": "list"}
__outputter__ = {"list_": "highstate"}

STOCK = {"fruit": ["apple", "pear"], "tea": []}


def __virtual__():
    if __grains__["kernel"] != "Linux":
        return False, "only on Linux"
    return __virtualname__


def _shelf(kind):
    if kind not in STOCK:
        raise CommandExecutionError(f"there is no shelf for {kind}")
    return STOCK[kind]


def list_(kind="fruit", *more, upper=False, **kwargs):
    """
    List what there is.

    .. note:: Upper case on request.

    CLI Example:

    .. code-block:: bash

        salt '*' shop.list tea upper=True
    """
    log.debug("listing %s", kind)
    found = sum((_shelf(one) for one in (kind, *more)), [])
    told = sorted(key for key in kwargs if key.startswith("__pub_"))
    return {"found": [one.upper() for one in found] if upper else found, "more": kwargs.get("x"), "told": bool(told) or None}


def about(key):
    return {
        "grain": __grains__["id"],
        "pillar": __pillar__.get(key),
        "opt": __opts__["id"],
        "has": ["shop.list" in __salt__, "nosuch.function" in __salt__, "cmd.run" in __salt__],
    }


def through(fun, *args, **kwargs):
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    return __salt__[fun](*args, **kwargs)


def retcode(code):
    __context__["retcode"] = code
    return True


def data():
    return {1: {"a", "a"}, "none": None, "tuple": (1, 2), "json": json.dumps([os.path.sep]), True: 1.5}


def yields():
    yield {"a": 1}
    yield {"b": 2}


def fail(how):
    raise {
        "invocation": SaltInvocationError("say how"),
        "missing": CommandNotFoundError("shopkeeper"),
        "zero": ZeroDivisionError("0"),
        "type": TypeError("no such type"),
    }[how]


def needs(one, two, three=3):
    return one, two, three


@functools.wraps(needs)
def wrapped(*args):
    return needs(*args)
