# SPDX-License-Identifier: MIT
"""Runs one call of Salt's client `ssh` for rest_fcgi, as salt-api runs it, and prints the result.

The program runs in the Python of the host's salt-ssh. Its argument is the master's file, which Salt itself reads.
Standard input is one JSON object with `tgt`, `tgt_type`, `fun`, `arg`, `kwarg`, `jid`, and optionally `timeout`, `roster`
and `roster_file`. rest_fcgi has checked these values and the caller's permission before. Standard output is one object:
`{"return": ...}`, or `{"error": sentence, "kind": "invocation", "unavailable" or "internal"}`.

rest_fcgi does not use the command line of salt-ssh. It would show the arguments to every user of the host, read some
arguments as options, ask questions if a host refuses the key, and not report the return codes.
"""

import json
import os
import sys
import traceback

FIELDS = ("tgt", "tgt_type", "fun", "arg", "kwarg", "jid", "timeout", "roster")


class Refused(Exception):
    """The call is refused. The message has the reason."""


def take_streams():
    """Returns the request, and a descriptor for the answer. Salt and its child processes cannot write to this descriptor."""
    with os.fdopen(os.dup(0), "rb") as stream:
        request = json.load(stream)
    answers = os.dup(1)  # child processes do not inherit it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return request, answers


def roster_path(opts, name):
    """Returns the path of a file in the folders of the master's `rosters`. Salt would also search the working directory."""
    folders = opts.get("rosters") or []
    for folder in [folders] if isinstance(folders, str) else folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise Refused(f"'roster_file' is '{name}', which is in no folder of the master's 'rosters'.")


def call(config, request):
    import salt.client.ssh
    import salt.client.ssh.client
    import salt.config

    # The target matches hosts of the roster only. Salt would also use the target as a host name, and log in there with the
    # master's key, even if the roster does not have this host.
    salt.client.ssh.SSH._expand_target = lambda self: None
    salt.client.ssh.SSH._update_targets = lambda self: None
    opts = salt.config.api_config(config)
    opts["config_dir"] = os.path.dirname(config)  # where the roster is
    low = {key: request[key] for key in FIELDS if key in request}
    # Salt passes the arguments to a program on the host and fails if one is not text, so other values become JSON.
    low["arg"] = [one if isinstance(one, str) else json.dumps(one) for one in request["arg"]]
    if "roster_file" in request:
        low["roster_file"] = roster_path(opts, request["roster_file"])
    return salt.client.ssh.client.SSHClient(mopts=opts, disable_custom_roster=True).cmd_sync(low)


def failure(error):
    """Returns the answer for an exception. An unexpected exception is shown by its place only, because its text may contain
    an argument."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, Refused) or "SaltInvocationError" in names:
        return {"error": str(error), "kind": "invocation"}
    if isinstance(error, (ImportError, PermissionError)) or names & {"SaltClientError", "SaltSystemExit"}:
        return {"error": f"salt-ssh cannot run: {error}", "kind": "unavailable"}
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {"error": f"{type(error).__name__} in {last.filename}:{last.lineno}", "kind": "internal"}


def encoded(answer):
    try:
        text = json.dumps(answer, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN and infinities, which JSON lacks
        answer = json.loads(json.dumps(answer, default=str), parse_constant=lambda name: None)
        text = json.dumps(answer, ensure_ascii=False)
    return text.encode(errors="replace")


def main():
    request, answers = take_streams()
    try:
        text = encoded({"return": call(sys.argv[1], request)})
    except BaseException as error:  # Salt raises SystemExit if it cannot read the master's file
        text = encoded(failure(error))
    with os.fdopen(answers, "wb") as stream:
        stream.write(text)
    os._exit(0)  # does not wait for Salt's own threads


if __name__ == "__main__":
    main()
