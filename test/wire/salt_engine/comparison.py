# SPDX-License-Identifier: MIT
"""What the responder and Salt's NetapiClient said to the same chunk, made comparable."""

import json
import re

from support.daemon import ROOT

STATUS = {  # of what NetapiClient raises
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


def differences():
    """Names of rows, or patterns of them, that differ on purpose, as the page's table has them."""
    _, _, section = (ROOT / "deploy/salt.md").read_text().partition("\n## Differences\n")
    rows = [line for line in re.split(r"\n## ", section)[0].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def neutral(value):
    """The same value without what differs from call to call."""
    if isinstance(value, dict):
        fixed = {key: 0 if key in ("pid", "ts") else neutral(one) for key, one in value.items()}
        return {neutral(key): one for key, one in fixed.items()}
    if isinstance(value, list):
        return [neutral(one) for one in value]
    return STAMP.sub("STAMP", JID.sub("JID", value)) if isinstance(value, str) else value


def in_any_order(items):
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def like(low, value):
    """What of a value has to be the same, for the clients that are free to choose."""
    client = low.get("client")
    if client == "local_batch" and low.get("failhard"):  # whose turn it is first, is a matter of luck
        return [list(item.values()) for item in value]
    if client == "local_batch":  # minions come as they answer
        return in_any_order(value)
    if client == "local_subset":  # which minions it is, is a matter of luck
        return in_any_order(value.values())
    if client == "local_async" and "minions" in value:
        return {**value, "minions": sorted(value["minions"])}
    return value


def of_netapi(low, answer):
    """(status, value) that the responder should give for what NetapiClient gave."""
    if "error" in answer:
        return STATUS.get(answer["error"], 500), neutral(answer["message"])
    return 200, like(low, neutral(answer["return"]))


def of_engine(low, reply):
    """(status, value) of the responder's reply to one chunk."""
    if reply.status != 200:
        return reply.status, neutral(reply.ret)
    if low.get("client") == "local_batch":
        return 200, like(low, neutral(reply.ret))
    (value,) = reply.ret
    return 200, like(low, neutral(value))
