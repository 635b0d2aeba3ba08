# SPDX-License-Identifier: MIT
"""Answers lowstate with Salt's own NetapiClient: one chunk and one answer per line.

Runs in an environment with Salt. Its argument is the master's file. An answer is {"return": value}, or {"error": class
of the exception, "message": its text}, also for values that Salt cannot encode.
"""

import json
import logging
import os
import sys
import types

import salt.config
import salt.netapi
import salt.utils.json


def answer(client, low):
    """Returns the answer as JSON."""
    try:
        value = client.run(low)
        return salt.utils.json.dumps({"return": list(value) if isinstance(value, types.GeneratorType) else value})
    except Exception as error:  # an exception is an answer
        return json.dumps({"error": type(error).__name__, "message": str(error)})


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some clients print
    logging.disable(logging.CRITICAL)
    opts = salt.config.client_config(sys.argv[1])
    opts["config_dir"] = os.path.dirname(sys.argv[1])  # salt-api sets it; the roster is there
    client = salt.netapi.NetapiClient(opts)
    for line in sys.stdin:
        print(answer(client, json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
