# SPDX-License-Identifier: MIT
"""Calls functions of Salt's own etcd returner. Prints their returns as JSON.

The Python must have Salt. Standard input is JSON with "root_dir", "opts" and "calls"."""

import json
import pathlib
import sys
import traceback

import salt.config
import salt.loader


def load(request):
    root = pathlib.Path(request["root_dir"])
    (root / "master").write_text(json.dumps({"root_dir": str(root)}))
    opts = salt.config.master_config(str(root / "master"))
    opts.update(request["opts"])
    returners = salt.loader.returners(opts, {})
    assert "etcd.returner" in returners, "this Salt has no etcd returner"
    return returners


def call(returners, function, *arguments):
    try:
        return {"ret": returners[f"etcd.{function}"](*arguments)}
    except Exception as error:
        return {"raised": traceback.format_exception_only(error)[-1].strip()}


def main():
    request = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # some functions print to standard output
    returners = load(request)
    json.dump([call(returners, *one) for one in request["calls"]], answers)


main()
