# SPDX-License-Identifier: MIT
"""Fires each line of standard input as an event of a master. A line is {"tag": ..., "data": ...}.

The Python must have Salt. The argument is the path of the master's file."""

import json
import sys

import salt.config
import salt.utils.event


def main():
    opts = salt.config.client_config(sys.argv[1])
    with salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts, listen=False) as bus:
        for line in sys.stdin:
            event = json.loads(line)
            bus.fire_event(event["data"], event["tag"])
            print("fired", flush=True)


if __name__ == "__main__":
    main()
