# SPDX-License-Identifier: MIT

import signal

from support.api import chunk, local
from support.modules import TGT, call, with_modules
from support.process import wait_until


def write(folder, name, text, mode=0o755):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)


def test_a_reload_finds_new_scripts_and_python_functions_and_keeps_running_jobs(start, front, modules, tmp_path):
    running = tmp_path / "running"
    write(modules, "shop.old", f"touch {running}; sleep 2; echo 1")
    (modules / "tool.py").write_text("def one():\n    return 1\n")
    daemon = start(with_modules(modules))
    api = front(daemon)
    assert call(api, "tool.one") == 1
    jid = api.run({**local("shop.old", tgt=TGT), "client": "local_async"})[0]["jid"]
    wait_until(running.exists, "the script runs")
    write(modules, "shop.new", "echo 2")
    assert call(api, "shop.new") == "'shop.new' is not available."
    (modules / "shop.old").unlink()
    (modules / "tool.py").write_text("def two():\n    return 2\n")
    daemon.kill(signal.SIGHUP)
    wait_until(lambda: "shop.new" in call(api, "sys.list_functions"), "the new script is there")
    assert call(api, "shop.old") == "'shop.old' is not available."
    assert (call(api, "tool.two"), call(api, "tool.one")) == (2, "'tool.one' is not available.")
    wait_until(lambda: api.run(chunk("runner", "jobs.lookup_jid", jid=jid)) == [{TGT: 1}], "the job returned")
