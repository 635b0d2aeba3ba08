# SPDX-License-Identifier: MIT
"""Normalizes answers of rest_fcgi and of Salt's NetapiClient to the same chunk, to compare them."""

import hashlib
import json
import re

from support.salt_master import MINIONS

LONG, MANY = 5000, 50  # the recording has a prefix and a digest of a longer value
NO_RETURN = "Minion did not return."
STATUS = {
    "AuthenticationError": 401,
    "AuthorizationError": 401,
    "EauthAuthenticationError": 401,
    "TokenAuthenticationError": 401,
    "CommandExecutionError": 400,
    "SaltInvocationError": 400,
    "SaltDaemonNotRunning": 503,
    "SaltClientTimeout": 504,
}
JID = re.compile(r"\b20\d{18}\b")
STAMP = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(\+00:00)?")
VOLATILE = [
    (JID, "JID"),
    (STAMP, "STAMP"),
    (re.compile(r'(File "[^"]*", line) \d+'), r"\1 N"),
    (re.compile(r"(/usr(/local)?/lib/)?python3\.\d+"), "PYTHON"),
    (re.compile(r"\n *[~^]+(?=\n)"), ""),  # newer Pythons underline a part of each traceback line
]


def neutral(value, places=()):
    """Returns the value without parts that depend on the call, the machine or line numbers of Salt's source."""
    if isinstance(value, dict) and len(value) > MANY:
        return f"a map of more than {MANY} keys"
    if isinstance(value, dict):
        fixed = {key: 0 if key in ("pid", "ts") else neutral(one, places) for key, one in value.items()}
        return {neutral(key, places): one for key, one in fixed.items()}
    if isinstance(value, list):
        return [neutral(one, places) for one in value]
    if not isinstance(value, str):
        return value
    for path, word in places:
        value = value.replace(path, word)
    for pattern, word in VOLATILE:
        value = pattern.sub(word, value)
    if len(value) > LONG:
        return f"{value[:100]} and so on: {len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()[:16]}"
    return value


def in_any_order(items):
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def like(low, value):
    """Returns the comparable part of a value whose order or minions can differ."""
    client = low.get("client")
    if client == "local_batch" and low.get("failhard"):  # Salt chooses the first minion at random
        return [list(item.values()) for item in value]
    if client == "local_batch":  # minions return in any order
        return in_any_order(value)
    if client == "local_subset":  # Salt chooses the minions at random
        return in_any_order(value.values())
    if client == "local_async" and "minions" in value:
        return {**value, "minions": sorted(value["minions"])}
    return value


def of_netapi(low, answer, places=()):
    if "error" in answer:
        return neutral(answer, places)
    return {"return": like(low, neutral(answer["return"], places))}


def expected(answer):
    if "error" in answer:
        return STATUS.get(answer["error"], 500), answer["message"]
    return 200, answer["return"]


def of_engine(low, reply, places=()):
    if reply.status != 200:
        return reply.status, neutral(reply.ret, places)
    if low.get("client") == "local_batch":
        return 200, like(low, neutral(reply.ret, places))
    (value,) = reply.ret
    return 200, like(low, neutral(value, places))


def silent(value, wanted):
    """Returns the minions with a return in `wanted` but not in `value`. A minion on a busy machine can be late."""
    return {minion for minion in MINIONS if _said(minion, wanted) and not _said(minion, value)}


def _said(minion, value):
    if isinstance(value, dict):
        own = value.get(minion)
        if isinstance(own, dict) and "ret" in own:
            own = own["ret"]
        if minion in value:
            return own not in (False, {}, None) and not str(own).startswith(NO_RETURN)
        return any(_said(minion, one) for one in value.values())
    if isinstance(value, (list, tuple)):
        return any(_said(minion, one) for one in value)
    return value == minion
