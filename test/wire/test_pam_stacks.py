# SPDX-License-Identifier: MIT
"""The verdict of the helper on PAM service files, compared with libpam."""

import os
import pathlib
import random
import shutil

import pytest

from support import libpam
from support.pam_helper import CHECK, FAILED, GOOD, REFUSED, VERIFY, ask

MODULES = [path for path in pathlib.Path("/usr/lib").glob("**/security/pam_debug.so")]
pytestmark = pytest.mark.skipif(not MODULES, reason="the modules of PAM are missing")

# Each stack lets users in without a password. A reader that differs from libpam in one detail would miss that.
MISREAD = {
    "default-twice": "auth [success=ok default=ignore default=bad] pam_unix.so\nauth required pam_permit.so\n",
    "no-space-between": "auth [success=okdefault=ignore] pam_unix.so\nauth required pam_permit.so\n",
    "blank-behind-backslash": "auth required \\ \npam_permit.so\n",
    "comment-in-a-line-that-goes-on": "auth required \\\n# pam_unix.so\npam_permit.so\n",
    "backslash-before-a-comment": "auth required pam_unix.so \\#\nauth [default=reset] pam_deny.so\nauth required pam_permit.so\n",
    "type-in-brackets": "[auth] required pam_permit.so\n",
    "include-with-a-dash": "-@include {folder}/open\n",
    "jump-over-nonsense": "auth [success=2 default=die] pam_debug.so\nnonsense\nauth requisite pam_deny.so\nauth required pam_permit.so\n",
    "jump-over-what-is-not-there": "auth [success=2 default=die] pam_debug.so\nauth include {folder}/nosuch\n"
    "auth requisite pam_deny.so\nauth required pam_permit.so\n",
    "reset-after-what-is-not-there": "auth include {folder}/nosuch\nauth [default=reset] pam_deny.so\nauth required pam_permit.so\n",
    "longer-than-libpam-reads": "#" + "x" * 1022 + "auth sufficient pam_permit.so\nauth required pam_unix.so\n",
    "asks-to-be-ignored": "auth required {folder}/pam_ours.so auth=ignore\nauth required pam_permit.so\n",
    "debug": "auth sufficient pam_debug.so\nauth required pam_unix.so\n",
}


@pytest.fixture
def folder(directory):
    """Writes a service that accepts every login, a service that refuses every login, and a module with an unknown name."""
    (directory / "open").write_text("auth required pam_permit.so\n")
    (directory / "closed").write_text("auth required pam_deny.so\n")
    shutil.copy(MODULES[0], directory / "pam_ours.so")
    return directory


def test_stacks_that_are_easily_misread_are_refused(folder):
    stacks = {name: text.format(folder=folder) + "account required pam_permit.so\n" for name, text in MISREAD.items()}
    checked = ask(folder, stacks, CHECK, list(stacks))
    tried = ask(folder, stacks, VERIFY, list(stacks))
    assert {name: outcome for name, (outcome, _) in checked.items()} == dict.fromkeys(stacks, REFUSED)
    assert {name: outcome for name, (outcome, _) in tried.items()} == dict.fromkeys(stacks, FAILED)
    # One or two of these depend on the version of libpam and on installed modules.
    assert sum(libpam.lets_in(name, folder) for name in stacks) > len(stacks) / 2


@pytest.mark.parametrize(
    "text, cause",
    [
        ("nonsense\n", "1: no type, control and module are there"),
        ("auth required\n", "1: no type, control and module are there"),
        ("account required pam_permit.so\nauth perhaps pam_unix.so\n", '2: PAM does not know the control "perhaps"'),
        ("auth [success=0] pam_unix.so\n", '1: PAM does not know the control "success=0"'),
        ("auth include nosuch\n", "1: the file of nosuch cannot be read"),
        ("auth include odd\n", "1: more than 16 files include each other"),
        ("auth required pam_unix.so\r\n", "1: there is a control character"),
        ("#" * 1001 + "\n", "1: the line is longer than 1000 bytes"),
        ("auth \\\n\nrequired pam_unix.so\n", "2: the line before goes on here, where nothing is"),
    ],
)
def test_an_ambiguous_line_is_named(folder, text, cause):
    found = ask(folder, {"odd": text}, VERIFY, ["odd"])["odd"]
    assert found == (FAILED, f"{folder}/odd:{cause}: choose another service")


def test_service_files_are_found_like_libpam_does(folder):
    (folder / "Login").write_text("auth required pam_deny.so\n")
    (folder / "login").write_text("auth required pam_permit.so\n")
    assert libpam.lets_in("Login", folder)
    assert ask(folder, {}, CHECK, ["Login"])["Login"][1].startswith(f"{folder}/login:1: pam_permit lets somebody in")


def test_a_service_without_a_file_refuses_logins_whatever_the_service_other_allows(folder):
    (folder / "other").write_text("auth required pam_permit.so\n")
    assert libpam.lets_in("nosuch", folder)
    assert ask(folder, {}, VERIFY, ["nosuch"])["nosuch"] == (FAILED, "nosuch: the file of nosuch cannot be read: choose another service")
    (folder / "nolines").write_text("account required pam_permit.so\n")
    assert libpam.lets_in("nolines", folder)
    assert ask(folder, {}, VERIFY, ["nolines"])["nolines"][1].startswith(f"{folder}/other:1: pam_permit lets somebody in")


ACTIONS = ["ok", "done", "bad", "die", "ignore", "reset", "1", "2", "3"]
KEYWORDS = {
    "required": {"success": "ok", "new_authtok_reqd": "ok", "ignore": "ignore", "default": "bad"},
    "requisite": {"success": "ok", "new_authtok_reqd": "ok", "ignore": "ignore", "default": "die"},
    "sufficient": {"success": "done", "new_authtok_reqd": "done", "default": "ignore"},
    "optional": {"success": "ok", "new_authtok_reqd": "ok", "default": "ignore"},
}


def random_stack(pick, files):
    """Returns random lines of modules that ask for no password, some of which cannot be loaded."""
    lines = []
    for _ in range(pick.randint(1, 6)):
        control = pick.choice(list(KEYWORDS))
        if pick.random() < 0.6:
            keys = ["success", "auth_err", "ignore", "module_unknown", "new_authtok_reqd", "default"]
            control = "[" + " ".join(f"{key}={pick.choice(ACTIONS)}" for key in pick.sample(keys, pick.randint(1, 6))) + "]"
        says = pick.choice(["", "", " auth=ignore", " auth=auth_err", " auth=new_authtok_reqd"])
        module = pick.choice(["pam_permit.so", "pam_deny.so", "pam_deny.so", f"pam_debug.so{says}", "pam_nosuch.so"])
        lines.append(f"{pick.choice(['auth', 'auth', '-auth'])} {control} {module}\n")
        if files and pick.random() < 0.3:
            lines.append(f"auth {pick.choice(['include', 'substack'])} {pick.choice(files)}\n")
    return "".join(lines) + "account required pam_permit.so\n"


def test_a_stack_that_libpam_opens_without_a_password_is_refused(folder):
    """No module asks for a password, so that every success of libpam would be a success for every user."""
    pick = random.Random(13)
    stacks = {}
    for number in range(800):
        # libpam 1.5 looks up names in /etc/pam.d only, so include lines have paths.
        stacks[f"s{number}"] = random_stack(pick, [folder / name for name in list(stacks)[:20]])
    checked = ask(folder, stacks, CHECK, list(stacks))
    let_in = [service for service in stacks if libpam.lets_in(service, folder)]
    assert not [stacks[service] for service in let_in if "without a password" not in checked[service][1]]
    refused = [service for service, (outcome, _) in checked.items() if outcome == REFUSED]
    assert len(stacks) / 20 < len(let_in) and len(stacks) / 5 < len(refused) < len(stacks)
    tried = ask(folder, {}, VERIFY, list(stacks))
    assert not [stacks[service] for service, (outcome, _) in tried.items() if outcome == GOOD]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask about the services of this host")
def test_services_of_this_host_without_a_password_check_are_refused(folder):
    services = sorted(path.name for path in pathlib.Path("/etc/pam.d").iterdir() if path.name.islower() and "." not in path.name)
    found = {service: (ask(None, {}, CHECK, [service])[service], ask(None, {}, VERIFY, [service])[service]) for service in services}
    let_in = {service for service in services if libpam.lets_in(service)}
    assert {"su"} & set(services) <= let_in
    for service, (checked, tried) in found.items():
        assert tried[0] != GOOD
        if service in let_in:
            assert checked[0] == REFUSED and "lets somebody in without a password" in checked[1] and tried == (FAILED, checked[1])


def test_a_success_without_a_password_question_is_refused(folder):
    """pam_ours is unknown and may look at a password, so the check of the file accepts it."""
    service = f"auth required {folder}/pam_ours.so\naccount required pam_permit.so\n"
    (folder / "unasked").write_text(service)
    assert libpam.lets_in("unasked", folder)
    assert ask(folder, {}, CHECK, ["unasked"])["unasked"][0] == GOOD
    found = ask(folder, {}, VERIFY, ["unasked"])["unasked"]
    assert found == (FAILED, "authentication: no module asked for the password: choose another service")
