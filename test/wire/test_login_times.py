# SPDX-License-Identifier: MIT
"""Logins with a wrong user and with a wrong password take equally long."""

import os

import pytest
from support import daemon as daemons
from support.login_times import BACK_ENDS, bound, distance, measure

TRIES = 2000 if daemons.LONG else 100
FACTOR = 1.9
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make users and PAM services for a test")

pytestmark = pytest.mark.skipif(bool(daemons.SANITIZED), reason="a sanitizer changes the times")


@pytest.mark.parametrize("name", ["file", "sharedsecret", "token", pytest.param("pam", marks=NEEDS_ROOT)])
def test_the_time_of_a_refusal_does_not_reveal_its_cause(start, directory, name):
    with BACK_ENDS[name](directory) as (settings, sorts_of):
        daemon = start(settings)
        # By chance, 2 of 1,000 runs exceed the bound. A second run then decides.
        apart = [distance(*measure(daemon.address, sorts_of(daemon), TRIES))]
        if apart[0] >= bound(TRIES, FACTOR):
            apart.append(distance(*measure(daemon.address, sorts_of(daemon), TRIES)))
        assert min(apart) < bound(TRIES, FACTOR)
