# SPDX-License-Identifier: MIT
"""Fires each line of standard input as an event of a master. A line is {"tag": ..., "data": ...}.

The Python must have Salt. The argument is the path of the master's file."""

import base64
import json
import sys

import salt.config
import salt.utils.event


def with_bytes(value):
    if isinstance(value, dict):
        return {key: with_bytes(one) for key, one in value.items()}
    if isinstance(value, str) and value.startswith("base64:"):
        return base64.b64decode(value.removeprefix("base64:"))
    return value


def main():
    opts = salt.config.client_config(sys.argv[1])
    with salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts, listen=False) as bus:
        for line in sys.stdin:
            event = json.loads(line)
            bus.fire_event(with_bytes(event["data"]), event["tag"])
            print("fired", flush=True)


if __name__ == "__main__":
    main()
