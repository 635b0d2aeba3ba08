# SPDX-License-Identifier: MIT
"""The targets of jobs, and the returns of the minions."""

import fnmatch


def matched(job, minions):
    """Returns the minions of a target."""
    tgt, kind = job["tgt"], job.get("tgt_type", "glob")
    if kind == "glob":
        return [minion for minion in minions if fnmatch.fnmatchcase(minion, tgt)]
    if kind == "list":
        wanted = set(tgt.split(",") if isinstance(tgt, str) else tgt)
        return [minion for minion in minions if minion in wanted]
    return []  # other target types need data of the minions


class Functions:
    """The functions of the simulated minions."""

    def __init__(self, echo_bytes):
        self._echo = "x" * echo_bytes if echo_bytes else None
        self._functions = {
            "saltutil.find_job": lambda jid: {},  # this function does not know the running jobs
            "sys.list_functions": lambda *names: list(names or self._functions),
            "test.arg_clean": lambda *args, **kwargs: {"args": list(args), "kwargs": kwargs},
            "test.echo": lambda text: text if self._echo is None else self._echo,
            "test.ping": lambda: True,
        }

    def run(self, job):
        """Returns the parts of a return that are equal for all minions."""
        args, kwargs = arguments(job)
        ret = {"cmd": "_return", "jid": job["jid"], "fun": job["fun"], "user": job.get("user", "")}
        ret["fun_args"] = [*args, kwargs] if kwargs else args
        if "metadata" in job:
            ret["metadata"] = job["metadata"]
        return {**ret, **self._outcome(job["fun"], args, kwargs)}

    def _outcome(self, fun, args, kwargs):
        if not isinstance(fun, str) or fun not in self._functions:
            return {"success": False, "retcode": 1, "return": f"'{fun}' is not available."}
        try:
            return {"success": True, "retcode": 0, "return": self._functions[fun](*args, **kwargs)}
        except TypeError as error:
            return {"success": False, "retcode": 1, "return": f"Passed invalid arguments to {fun}: {error}"}


def arguments(job):
    """Returns positional and keyword arguments."""
    args, kwargs = list(job.get("arg", [])), {}
    if args and isinstance(args[-1], dict) and args[-1].get("__kwarg__"):
        kwargs = {name: value for name, value in args.pop().items() if name != "__kwarg__"}
    return args, kwargs
