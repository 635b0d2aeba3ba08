# SPDX-License-Identifier: MIT
"""Answers lowstate as Salt's own NetapiClient does: chunks come in line by line, answers go out line by line.

Runs in an environment that has Salt, with the master's file as its argument. An answer is {"return": value}, or
{"error": name of the exception's class, "message": its text}, also where Salt's JSON cannot hold the value.
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
    """The answer as JSON."""
    try:
        value = client.run(low)
        return salt.utils.json.dumps({"return": list(value) if isinstance(value, types.GeneratorType) else value})
    except Exception as error:  # what it raises is an answer
        return json.dumps({"error": type(error).__name__, "message": str(error)})


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some clients print
    logging.disable(logging.CRITICAL)
    opts = salt.config.client_config(sys.argv[1])
    opts["config_dir"] = os.path.dirname(sys.argv[1])  # as salt-api has it: where the roster is
    client = salt.netapi.NetapiClient(opts)
    for line in sys.stdin:
        print(answer(client, json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
