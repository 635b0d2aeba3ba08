# SPDX-License-Identifier: MIT

import pytest
from rows import local, user
from support import salts
from support.process import wait_until

FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)


@FIRST_SERIES
def test_the_jid_of_another_users_job_returns_nothing_of_it(engine):
    shell = ["sleep 10; echo canary"]
    (job,) = engine.run(local("cmd.run", "ms-0", cred=user("admin"), client="local_async", arg=shell))
    wait_until(lambda: engine.run(local("saltutil.find_job", "ms-0", arg=[job["jid"]])) != [{"ms-0": {}}], "it runs")
    same = {"jid": job["jid"], "arg": shell, "timeout": 2, "gather_job_timeout": 2}
    (mine,) = engine.run(local("cmd.run", "ms-0", **same))
    assert set(mine) == {"ms-0"} and "canary" not in mine["ms-0"]
