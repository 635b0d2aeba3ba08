# SPDX-License-Identifier: MIT
"""An execution module for the minions of the tests."""

import datetime
import math

ODD = {
    "bytes": b"ab\xff\x00",
    "date": datetime.datetime(2026, 11, 21, 1, 2, 3, 4),
    "deep": None,
    "floats": [1.0, 0.1, 1e16, 1e-7, 5e-324, -0.0, 123456.789],
    "huge": [2**63, 2**64 - 1, 2**64, 2**70, -(2**63), -(2**70)],
    "keys": {7: "int", 2.5: "float", None: "none", True: "bool", "text": "text"},
    "nan": [math.nan, math.inf, -math.inf],
    "order": {"zebra": 1, "ape": 2, "mule": {"z": 1, "a": 2}},
    "text": 'grün ☃ \U0001f984 "quoted" \\ / \b\f\n\r\t\x01\x7f\u2028',
    "tuple": (1, ("two", [3])),
}


def odd(name):
    """Returns a value that JSON or msgpack encodes with difficulty."""
    if name != "deep":
        return ODD[name]
    value = []
    for _ in range(60):
        value = [value]
    return value


def count(path):
    """Appends the id of the minion to a file."""
    with open(path, "a") as record:
        record.write(f"{__opts__['id']}\n")
    return True


def big(size):
    return "x" * size
