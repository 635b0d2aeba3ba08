# SPDX-License-Identifier: MIT
"""Runs a call of Salt's client `ssh` for rest_fcgi and prints the result.

The program runs in the Python of the host's salt-ssh. Its argument is the path of the master's file.
Standard input is a JSON object with `tgt`, `tgt_type`, `fun`, `arg`, `kwarg` and `jid`.
`timeout`, `roster` and `roster_file` are optional. rest_fcgi has checked the values and the caller's permission.
Standard output is `{"return": ...}`, or `{"error": sentence, "kind": kind, "detail": text}`. `detail` is for the log only.

rest_fcgi does not use the command line of salt-ssh, because every user of the host could see the arguments.
The command line also reads some arguments as options."""

import json
import os
import re
import sys
import traceback

FIELDS = ("tgt", "tgt_type", "fun", "arg", "kwarg", "jid", "timeout", "roster")


class Refused(Exception):
    """The call is refused. The message has the reason."""


def take_streams():
    """Returns the request and a descriptor for the answer. Salt cannot write to the descriptor."""
    with os.fdopen(os.dup(0), "rb") as stream:
        request = json.load(stream)
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return request, answers


def roster_path(opts, name):
    """Returns the path of a file in the folders of the master's `rosters`, without the working directory."""
    for folder in opts["rosters"]:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise Refused(f"'roster_file': found '{name}', expected a file in a folder of the master's 'rosters'.")


def call(config, request):
    import salt.client.ssh
    import salt.client.ssh.client
    import salt.config

    # Replaces two functions of Salt by functions that do nothing. With Salt's functions, a host outside the roster could be a
    # target, and Salt would log in to this host with the master's key. After the replacement, a target matches only hosts of
    # the roster.
    salt.client.ssh.SSH._expand_target = lambda self: None
    salt.client.ssh.SSH._update_targets = lambda self: None
    opts = salt.config.api_config(config)
    opts["config_dir"] = os.path.dirname(config)  # Salt looks for the roster in this folder
    low = {key: request[key] for key in FIELDS if key in request}
    # Salt fails if an argument is not a string, so all other values become JSON text.
    low["arg"] = [one if isinstance(one, str) else json.dumps(one) for one in request["arg"]]
    folders = opts.get("rosters") or []
    # If the master's file has `roster_file`, Salt needs a list here.
    opts["rosters"] = [folders] if isinstance(folders, str) else folders
    groups = opts.get("ssh_list_nodegroups") or {}
    if request["tgt_type"] == "nodegroup" and request["tgt"] not in groups:
        raise Refused(f"unknown node group '{request['tgt']}'; expected a name in 'ssh_list_nodegroups' of the master's file.")
    if "roster_file" in request:
        low["roster_file"] = roster_path(opts, request["roster_file"])
    return salt.client.ssh.client.SSHClient(mopts=opts, disable_custom_roster=True).cmd_sync(low)


def without_folders(text):
    return re.sub(r"(?<![\w.])/(?:[^/\s'\":]+/)+", "", str(text))


def failure(error):
    """Returns the answer for an exception. The answer leaves out the text of an unexpected exception.
    The other texts are shown without the folders of paths, and the log has the whole text."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, Refused) or "SaltInvocationError" in names:
        return {"error": without_folders(error), "kind": "invocation"}
    if isinstance(error, (ImportError, OSError)) or names & {"SaltClientError", "SaltSystemExit"}:
        reason = f"salt-ssh cannot run: {error}"
        return {"error": without_folders(reason), "kind": "unavailable", "detail": reason}
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {"error": f"{type(error).__name__} in {last.filename}:{last.lineno}", "kind": "internal"}


def encoded(answer):
    try:
        text = json.dumps(answer, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinities
        answer = json.loads(json.dumps(answer, default=str), parse_constant=lambda name: None)
        text = json.dumps(answer, ensure_ascii=False)
    return text.encode(errors="replace")


def main():
    request, answers = take_streams()
    try:
        text = encoded({"return": call(sys.argv[1], request)})
    except BaseException as error:  # Salt raises SystemExit if Salt cannot read the master's file
        text = encoded(failure(error))
    with os.fdopen(answers, "wb") as stream:
        stream.write(text)
    os._exit(0)  # os._exit does not wait for Salt's own threads


if __name__ == "__main__":
    main()
