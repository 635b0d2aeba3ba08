# SPDX-License-Identifier: MIT
"""How long refusals take, by what is wrong: 2,000 tries of each sort, a figure of Kolmogorov and Smirnov, and a picture.

    login_times.py BUILD [TRIES] [PICTURE]

Each back end is tried as test/wire/test_login_times.py does, and beside it the first sort against itself: what the
machine alone makes of the figure. Then without the guard's delay, for what the hashes alone say. System users need root."""

import argparse
import os
import pathlib
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("tries", type=int, nargs="?", default=2000)
parser.add_argument("picture", type=pathlib.Path, nargs="?", default="login_times.svg")
given = parser.parse_args()
os.environ["REST_FCGI_BINARY"] = str(given.build.resolve() / "rest_fcgi")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "wire"))

from support import login_times  # noqa: E402
from support.daemon import Daemon, merge  # noqa: E402


def main():
    tries = given.tries
    print(f"{tries} tries of each sort; below {login_times.bound(tries, 1.36):.3f} in 95 of 100 runs where there is no difference")
    panels = {}
    for name, back_end in login_times.BACK_ENDS.items():
        if name == "pam" and os.geteuid() != 0:
            print("pam: skipped, since only root can make users for it")
            continue
        for guard, label in [({}, name), ({"login_guard": {"tries": 0}}, f"{name}, without the guard's delay")]:
            with tempfile.TemporaryDirectory() as folder, back_end(pathlib.Path(folder)) as (settings, sorts_of):
                daemon = Daemon(pathlib.Path(folder), merge(settings, {"rest_fcgi": guard}))
                (first, second), (again, _) = sorts_of(daemon), sorts_of(daemon)
                one, other, same = login_times.measure(daemon.address, [first, second, again], tries)
                daemon.stop()
            apart, floor = login_times.distance(one, other), login_times.distance(one, same)
            print(f"{label}: {apart:.3f}; the first sort against itself: {floor:.3f}")
            panels[f"{label}: {apart:.3f}"] = {login_times.SORTS[name][0]: one, login_times.SORTS[name][1]: other, "the first again": same}
    login_times.picture(given.picture, panels)


main()
