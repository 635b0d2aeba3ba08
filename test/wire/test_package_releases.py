# SPDX-License-Identifier: MIT
"""Builds and uses the package in a chroot of each Debian release."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from support.daemon import LONG, ROOT
from support.process import short_directory

pytestmark = pytest.mark.skipif(not LONG, reason="takes half an hour; REST_FCGI_LONG=1 runs it")

RELEASES = {"12": "bookworm", "13": "trixie"}
SOURCES = ["Makefile", "LICENSE", "README.md", "src", "include", "deploy", "nginx", "apache", "test"]
# mmdebstrap leaves no package lists, so apt installs the package only if the chroot has what the package depends on.
TOOLS = "build-essential debhelper lintian curl python3 ca-certificates systemd"

MASTER = """
netapi_enable_clients: [local]
external_auth: {auto: {alice: [test.ping]}}
cachedir: /tmp/state
rest_fcgi: {netapi: [rest_cherrypy], allow_auto_eauth: true, embedded: {minions: [here]}}
rest_cherrypy: {host: 127.0.0.1, port: 8000, disable_ssl: true}
"""

# The script tests the package inside the chroot. Each run has a new network namespace.
USE = """
ip link set lo up 2>/dev/null
rest_fcgi --version
rest_fcgi --config /etc/rest_fcgi/master &
curl -sS --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8000/run \
  -d client=local -d 'tgt=*' -d fun=test.ping -d eauth=auto -d username=alice -d password=x
"""


def archive():
    """Returns the address of Debian's archive from the apt configuration of this host."""
    found = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"], capture_output=True, text=True)
    return next((line for line in found.stdout.splitlines() if re.search(r"/debian/?$", line)), None)


def packages():
    text = subprocess.run(["make", "-C", ROOT, "-pnq", "help"], capture_output=True, text=True).stdout
    return re.search(r"^DEPS_BUILD := (.*)", text, re.MULTILINE)[1].split()


@pytest.fixture(params=RELEASES)
def chroot(request):
    """A chroot of a Debian release with the build dependencies of the package."""
    mirror = archive()
    if not mirror or not shutil.which("mmdebstrap"):
        pytest.skip("no mmdebstrap, or no archive of Debian in apt's sources")
    root = short_directory() / "root"
    include = ",".join([*packages(), *TOOLS.split(), "iproute2"])
    made = subprocess.run(["mmdebstrap", "--variant=minbase", f"--include={include}", RELEASES[request.param], root, mirror], capture_output=True, text=True)
    if made.returncode:
        shutil.rmtree(root.parent)
        pytest.skip(f"no chroot of Debian {request.param} here: {made.stderr.strip()[-500:]}")
    yield root
    shutil.rmtree(root.parent)


def run(root, script, *spaces):
    mounted = f"mount -t proc proc {root}/proc; exec chroot {root} /bin/sh -ec \"$1\""
    done = subprocess.run(["unshare", "--mount", "--fork", "--pid", "--kill-child", *spaces, "sh", "-c", mounted, "-", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_package_of_a_release_is_built_there_and_answers(chroot):
    (chroot / "src").mkdir()
    for source in SOURCES:
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, chroot / "src" / source)
    run(chroot, "cd /src && env -i PATH=$PATH HOME=/root make deb SKIP_DEPS=1")
    run(chroot, "cd /src/build/deb && lintian --allow-root --fail-on error,warning *.changes")
    assert list(pathlib.Path(chroot / "src/build/deb").glob("rest-fcgi-dbgsym_*.deb"))
    run(chroot, "apt-get install -y /src/build/deb/rest-fcgi_*.deb </dev/null")
    (chroot / "etc/rest_fcgi/master").write_text(MASTER)
    (chroot / "etc/rest_fcgi/master").chmod(0o640)
    said = run(chroot, USE, "--net").splitlines()
    assert said[0].startswith("rest_fcgi ") and json.loads(said[-1]) == {"return": [{"here": True}]}
