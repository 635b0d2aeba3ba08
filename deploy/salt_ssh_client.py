# SPDX-License-Identifier: MIT
"""Runs one call of Salt's client `ssh` for rest_fcgi, as salt-api runs it, and prints what it gave.

It runs in the Python of the host's salt-ssh, with the master's file as its argument, which Salt itself reads. Standard
input is one object of JSON with what the call may have and nothing else: `tgt`, `tgt_type`, `fun`, `arg`, `kwarg`, `jid`,
and perhaps `timeout`, `roster`, `roster_file`. rest_fcgi has looked at all of it, and at who calls. Standard output is
one object: `{"return": ...}`, or `{"error": sentence, "kind": "invocation", "unavailable" or "internal"}`.

salt-ssh's own command line would show the arguments to every user of the host, take some of them for options, ask
questions where a host refuses the key, and keep the return codes to itself.
"""

import json
import os
import sys
import traceback

FIELDS = ("tgt", "tgt_type", "fun", "arg", "kwarg", "jid", "timeout", "roster")


class Refused(Exception):
    """The call cannot be; the message says why."""


def take_streams():
    """The request, and a descriptor for the answer, of which nothing that Salt starts or prints gets to know."""
    with os.fdopen(os.dup(0), "rb") as stream:
        request = json.load(stream)
    answers = os.dup(1)  # not inherited
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return request, answers


def roster_path(opts, name):
    """The file of that name in a folder that the master's `rosters` names. Salt would go on to the working directory."""
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

    # A target is matched with the roster, and that is all. Salt would look it up as the name of a host, and log in there
    # with the master's key, whatever the roster says.
    salt.client.ssh.SSH._expand_target = lambda self: None
    salt.client.ssh.SSH._update_targets = lambda self: None
    opts = salt.config.api_config(config)
    opts["config_dir"] = os.path.dirname(config)  # where the roster is
    low = {key: request[key] for key in FIELDS if key in request}
    # As a command line would bring them: Salt hands them to a program on the host, and fails with what is no text.
    low["arg"] = [one if isinstance(one, str) else json.dumps(one) for one in request["arg"]]
    if "roster_file" in request:
        low["roster_file"] = roster_path(opts, request["roster_file"])
    return salt.client.ssh.client.SSHClient(mopts=opts, disable_custom_roster=True).cmd_sync(low)


def failure(error):
    """What is told of an exception. Of an unexpected one only where it was raised: its text may hold an argument."""
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
    except BaseException as error:  # Salt leaves with SystemExit where it cannot read its file
        text = encoded(failure(error))
    with os.fdopen(answers, "wb") as stream:
        stream.write(text)
    os._exit(0)  # Salt's own threads are of no further use


if __name__ == "__main__":
    main()
