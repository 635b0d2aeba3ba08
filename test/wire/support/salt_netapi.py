# SPDX-License-Identifier: MIT
"""Runs lowstate with Salt's own NetapiClient. Each line of input is a chunk, and each line of output is an answer.

The Python must have Salt. The argument is the path of the master's file.
An answer is {"return": value} or {"error": class of the exception, "message": text}."""

import json
import logging
import os
import sys
import types

import salt.config
import salt.netapi
import salt.utils.json


def answer(client, low):
    try:
        value = client.run(low)
        return salt.utils.json.dumps({"return": list(value) if isinstance(value, types.GeneratorType) else value})
    except Exception as error:
        return json.dumps({"error": type(error).__name__, "message": str(error)})


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some clients print to standard output
    logging.disable(logging.CRITICAL)
    opts = salt.config.client_config(sys.argv[1])
    opts["config_dir"] = os.path.dirname(sys.argv[1])  # Salt looks for the roster in this folder
    client = salt.netapi.NetapiClient(opts)
    for line in sys.stdin:
        print(answer(client, json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
