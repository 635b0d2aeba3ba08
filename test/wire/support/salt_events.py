# SPDX-License-Identifier: MIT
"""Prints each event of a master's bus as a line of JSON, as Salt's own reader of it sees them.

Runs in an environment that has Salt, with the master's file as its argument. The first line says that it reads.
"""

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
