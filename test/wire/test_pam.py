# SPDX-License-Identifier: MIT

import contextlib
import os
import pathlib
import secrets
import shutil
import subprocess

import pytest

from support import daemon as daemons

HELPER = daemons.BINARY.parent / "rest_fcgi_pam"
PASSWORD = "correct horse " + secrets.token_hex(4)
SERVICE = f"rest_fcgi-test-{os.getpid()}"
STACK = "auth required pam_unix.so\naccount required pam_unix.so\n"

TOOLS = ["useradd", "userdel", "groupadd", "groupdel", "chpasswd", "chage", "usermod"]
missing = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make users and PAM services for a test"),
    pytest.mark.skipif(bool(missing), reason=f"missing: {', '.join(missing)}"),
]


def do(*argv, **options):
    subprocess.run(argv, check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}, **options)


@pytest.fixture(scope="module")
def users():
    """Creates a PAM service, a group, and the users good, expired and locked."""
    tail = secrets.token_hex(3)
    names = {kind: f"rf{kind}{tail}" for kind in ("good", "expired", "locked")}
    group = f"rfgroup{tail}"
    service = pathlib.Path("/etc/pam.d") / SERVICE
    with contextlib.ExitStack() as cleanup:
        service.write_text(STACK)
        cleanup.callback(service.unlink)
        do("groupadd", group)
        cleanup.callback(do, "groupdel", group)
        for name in names.values():
            do("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", "--groups", group, name)
            cleanup.callback(do, "userdel", name)
        do("chpasswd", input="".join(f"{name}:{PASSWORD}\n" for name in names.values()))
        do("chage", "-E", "0", names["expired"])
        do("usermod", "--lock", names["locked"])
        yield {**names, "group": group}


def settings(users, **section):
    pam = {users["good"]: ["test.ping"], users["expired"]: [".*"], users["locked"]: [".*"], "root": []}
    pam[f"{users['group']}%"] = ["test.echo"]
    return {
        "auth.pam.service": SERVICE,
        "external_auth": {"file": None, "pam": pam},
        "rest_fcgi": {"pam_helper": str(HELPER), **section},
    }


@pytest.fixture
def served(start, users):
    return start(settings(users))


@pytest.fixture
def api(served, front):
    return front(served)


def call(name, password=PASSWORD, **changes):
    low = {"eauth": "pam", "username": name, "password": password, "client": "local", "tgt": "ms-0", "fun": "test.ping"}
    return {**low, **changes}


def test_a_system_user_logs_in_with_the_right_password_only(api, users):
    assert api.run(call(users["good"])) == [{"ms-0": True}]
    for wrong in ("wrong", "", PASSWORD.upper()):
        assert api.post(call(users["good"], wrong)).status == 401


def test_cve_2022_22967_an_expired_or_locked_account_is_refused_with_a_good_password(served, api, users):
    assert api.post(call(users["expired"])).status == 401
    served.await_log(f"service {SERVICE}: account: ")
    assert api.post(call(users["locked"])).status == 401


def test_a_rule_for_a_group_applies_to_its_members(api, users):
    assert api.run(call(users["good"], fun="test.echo", arg=["hi"])) == [{"ms-0": "hi"}]
    assert api.post(call(users["good"], fun="test.arg")).status == 401


def test_cve_2016_3176_a_caller_cannot_choose_the_pam_service(api, users):
    low = call(users["good"], "wrong", service="su", **{"auth.pam.service": "su"})
    assert api.post(low).status == 401


def test_salt_issue_64275_a_helper_without_root_warns_about_pam_unix(start, users, directory):
    directory.chmod(0o755)
    wrapper = directory / "helper"
    copied = directory / "rest_fcgi_pam"
    shutil.copy(HELPER, copied)
    setpriv = shutil.which("setpriv") or pytest.skip("setpriv is missing")
    wrapper.write_text(f"#!/bin/sh\nexec {setpriv} --reuid 65534 --regid 65534 --clear-groups {copied}\n")
    wrapper.chmod(0o755)
    daemon = start(settings(users, pam_helper=str(wrapper)))
    daemon.await_log("the helper runs as user id 65534, which may not read /etc/shadow, so pam_unix refuses all passwords")
