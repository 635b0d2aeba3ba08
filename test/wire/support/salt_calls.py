# SPDX-License-Identifier: MIT
"""Calls execution functions of a real Salt. Prints the returns of a minion as JSON.

The Python must have Salt. Standard input is JSON with "id", "pillar", "root_dir", "extension_modules" and "calls"."""

import json
import os
import pathlib
import sys
import traceback

import salt.config
import salt.exceptions
import salt.loader


def load(request):
    """Loads all execution functions of a minion without a master."""
    root = pathlib.Path(request["root_dir"])
    settings = {"id": request["id"], "root_dir": str(root), "file_client": "local", "enable_fqdns_grains": False}
    (root / "minion").write_text(json.dumps(settings))
    opts = salt.config.minion_config(str(root / "minion"))
    opts["extension_modules"] = request["extension_modules"] or opts["extension_modules"]
    opts["grains"] = salt.loader.grains(opts)
    opts["pillar"] = request["pillar"]
    (root / "pillar").mkdir()
    (root / "pillar/top.sls").write_text(json.dumps({"base": {"*": ["all"]}}))
    (root / "pillar/all.sls").write_text(json.dumps(request["pillar"]))
    opts["pillar_roots"] = {"base": [str(root / "pillar")]}
    return salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))


def text_of(fun, error):
    """Returns a minion's text for an exception, with the last line of a traceback."""
    if isinstance(error, salt.exceptions.CommandNotFoundError):
        return f"Command required for '{fun}' not found: {error}"
    if isinstance(error, salt.exceptions.CommandExecutionError):
        return f"ERROR: {error}"
    if isinstance(error, salt.exceptions.SaltInvocationError):
        return f"ERROR executing '{fun}': {error}"
    if isinstance(error, TypeError):
        return f"Passed invalid arguments to {fun}: {error}"
    return "The minion function caused an exception: " + traceback.format_exception_only(error)[-1].strip()


def call(functions, fun, args, kwargs):
    if fun not in functions:
        return {"missing": True}
    try:
        return {"ret": functions[fun](*args, **kwargs)}
    except Exception as error:
        return {"ret": text_of(fun, error), "raised": True}


def main():
    request = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # some functions print to standard output
    functions = load(request)
    outcomes = [call(functions, *one) for one in request["calls"]]
    json.dump(outcomes, answers, default=str)
    answers.flush()
    os._exit(0)  # os._exit does not wait for threads of Salt


if __name__ == "__main__":
    main()
