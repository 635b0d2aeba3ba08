# SPDX-License-Identifier: MIT
"""The times of refusals by cause, like test/wire/test_login_times.py: a Kolmogorov-Smirnov distance, the distance of
the first kind to itself for comparison, and a picture."""

import os
import pathlib
import tempfile

from harness import BUILD, ROUNDS, case
from support import login_times
from support.daemon import Daemon, merge

TRIES = 100 * ROUNDS  # of each kind; 2,000 tries show one more thousandth


@case("logins", "How far apart the times of two sorts of refusals are, from 0 to 1, against one sort with itself")
def logins(bench):
    panels = {}
    for name, back_end in login_times.BACK_ENDS.items():
        if name == "pam" and os.geteuid() != 0:
            print("  pam: left out, since only root can make users for it")
            continue
        for guard, label in [({}, name), ({"login_guard": {"tries": 0}}, f"{name}, without the guard's delay")]:
            with tempfile.TemporaryDirectory() as folder, back_end(pathlib.Path(folder)) as (settings, sorts_of):
                daemon = bench.ends(Daemon(pathlib.Path(folder), merge(settings, {"rest_fcgi": guard})))
                (first, second), (again, _) = sorts_of(daemon), sorts_of(daemon)
                one, other, same = login_times.measure(daemon.address, [first, second, again], TRIES)
                daemon.stop()
            apart, floor = login_times.distance(one, other), login_times.distance(one, same)
            bench.add(label, "distance", [apart], [floor], "itself", unit="")
            panels[f"{label}: {apart:.3f}"] = {login_times.SORTS[name][0]: one, login_times.SORTS[name][1]: other, "the first again": same}
    (BUILD / "bench").mkdir(exist_ok=True)
    login_times.picture(BUILD / "bench/logins.svg", panels)
