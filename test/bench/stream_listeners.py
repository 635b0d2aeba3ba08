# SPDX-License-Identifier: MIT
"""Many listeners of event streams at once: stream_listeners.cc."""

import http.client
import json
import subprocess
import threading

from support.process import TIMEOUT, join, line_of

MARK = "@@00-0000000000-0000000000000000000"  # the same as in listeners.h


class Listeners:
    """The listeners are connected after the constructor. `options` are those of the program."""

    def __init__(self, build, port, token, **options):
        argv = [build / "stream_listeners", f"port={port}", f"token={token}", *(f"{key}={value}" for key, value in options.items())]
        self._child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = line_of(self._child.stdout)
        if line != "ready\n":
            self._child.wait(TIMEOUT)
            raise AssertionError(f"not all of them got a stream: {options}")

    def fire(self):
        """Fires events. Returns the counts of the program."""
        self._child.stdin.write("go\n")
        self._child.stdin.flush()
        return json.loads(line_of(self._child.stdout, 1200))

    def close(self):
        """Disconnects all listeners."""
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait(TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def sample(api, token, path):
    """Returns the block of server-sent events for a hook of the listeners."""
    connection = api.connection(timeout=20)
    connection.request("GET", "/events", headers={"X-Auth-Token": token})
    stream = connection.getresponse()
    assert stream.status == 200, stream.read()
    stream.readline()
    hook = threading.Timer(0.2, post, (api, token, path))
    hook.start()
    lines = []
    while not lines or not lines[-1].startswith(b"data: ") or MARK.encode() not in lines[-1]:
        lines.append(stream.readline())
    join([hook])
    connection.close()
    begin = max((at for at, line in enumerate(lines[:-1]) if line == b"\n"), default=-1) + 1
    return b"".join(lines[begin:]) + b"\n"


def post(api, token, path):
    headers = {"X-Auth-Token": token, "Content-Type": "application/json"}
    try:
        api.request("POST", path, json.dumps({"mark": MARK}), headers)
    except http.client.HTTPException as error:
        raise AssertionError(f"{path} is not answered") from error
