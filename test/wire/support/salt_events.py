# SPDX-License-Identifier: MIT
"""Prints each event of a master's bus as a line of JSON. The first line is `reading`.

The Python must have Salt. The argument is the path of the master's file."""

import json
import sys

import salt.config
import salt.utils.event


def main():
    opts = salt.config.client_config(sys.argv[1])
    with salt.utils.event.get_event("master", sock_dir=opts["sock_dir"], opts=opts, listen=True) as bus:
        assert bus.connect_pub(timeout=100)
        print("reading", flush=True)
        for event in bus.iter_events(full=True):
            print(json.dumps(event, default=repr), flush=True)


if __name__ == "__main__":
    main()
