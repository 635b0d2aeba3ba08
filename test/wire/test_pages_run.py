# SPDX-License-Identifier: MIT
"""Runs the commands of all pages as an operator pastes them, on booted hosts. page_blocks.py explains the marks in the pages.

The host `alone` has the package in ./build/deb, and the sources. The host `salt` also has a running Salt master, minion and
salt-api. README.md installs and starts the service on both, and then the other pages follow."""

import os
import pty
import re
import shlex

import pytest
from support import page_blocks
from support.daemon import BINARY, ROOT, SANITIZED
from support.page_blocks import MANUAL, PAGES, blocks, mistake
from support.process import TIMEOUT
from test_package import booted, package, salt  # noqa: F401 (fixtures)

README = PAGES[0]
RUN_ON = {host: [page for page in PAGES[1:] if any(host in block.hosts for block in blocks(page))] for host in ("alone", "salt")}
WHY_NOT = "packages have no sanitizers" if SANITIZED else "booted hosts have their own /tmp" if ROOT.is_relative_to("/tmp") else ""
needs_package = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

PREPARE = r"""
mkdir -p build/deb && cp -n /srv/rest-fcgi.deb build/deb/rest-fcgi_0_all.deb && cp /srv/rest-fcgi.deb rest-fcgi_0_all.deb
cat > /etc/apt/apt.conf.d/99pages <<'END'
APT::Sandbox::User "root"; Dir::State::Lists "/srv"; APT::Get::Assume-Yes "true"; quiet "1";
END
printf '#!/bin/sh\nexec "$@"\n' > /usr/local/sbin/sudo  # The tests run as root.
cat > /usr/local/sbin/call <<'END'
#!/bin/sh
exec curl -fsS http://127.0.0.1:8000/run -d client=local -d tgt=* -d eauth=file -d username=alice -d password='correct horse' -d fun="$@"
END
cat > /usr/local/sbin/check_fragment <<'END'
#!/bin/sh
trap 'rm -f /etc/*/master.d/page.conf' EXIT
rest_fcgi -c "$1" --check-config
END
cat > /usr/local/sbin/mk_token <<'END'
#!/bin/sh
curl -fsS http://127.0.0.1:8000/login -d eauth=file -d username=alice -d password='correct horse' | sed 's/.*"token": "\([^"]*\).*/\1/'
END
chmod 755 /usr/local/sbin/*
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=salt-api.example.com -keyout /etc/ssl/private/salt-api.key -out /etc/ssl/certs/salt-api.pem 2>/dev/null
systemctl daemon-reload
"""
# Variables for make: a test neither installs packages nor compiles.
SHELL = ["env", f"--chdir={ROOT}", "PASSWORD=correct horse", f"BUILD={os.path.relpath(BINARY.parent, ROOT)}", "SKIP_DEPS=1", "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-e", "-o", "pipefail", "-c"]
UNTIL = "({text}) > /srv/printed 2>&1 & for i in $(seq 100); do {meanwhile}; if grep -q {until} /srv/printed; then kill $!; exit 0; fi; sleep 0.1; done; cat /srv/printed; exit 1"
VARYING = r"\d\d:\d\d:\d\d|\b\d{20}\b|\b\w{3}, \d\d \w{3} \d{4}|\b[0-9a-f]{32}\b"


def at_terminal(host, argv, answers):
    """Runs a program at a terminal and types an answer at each question. Returns the exit status and the output."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(host.enter[0], [*host.enter, *argv])
    output = ""
    while True:
        try:
            output += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the terminal is closed
            os.close(terminal)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output
        if answers and re.search(r"[:?\])>] $", output):
            os.write(terminal, answers.pop(0).encode() + b"\n")


def shell(host, text, answers=None):
    """Runs commands in the folder of the sources and returns their output. Fails if a command fails."""
    argv = [*SHELL, text]
    status, output = at_terminal(host, argv, answers) if answers else host.status(*argv)
    if status != 0:
        host.status("journalctl", "--sync")
        journal = host.status("journalctl", "--no-pager", "--lines=30", "--output=cat")[1]
        raise AssertionError(f"{text}\nexit status {status}\n{output[-2000:]}\nthe end of the journal:\n{journal}")
    return output.replace("\r", "")


def matches(expected, output):
    """Compares line by line. Times, job ids and ids of requests may differ, and `...` stands for any text."""
    masked = [re.escape(re.sub(VARYING, "VARYING", line)).replace(r"\.\.\.", ".*") for line in expected.split("\n")]
    return re.fullmatch("\n".join(masked) + r"\s*", re.sub(VARYING, "VARYING", output))


def run(block, host, name):
    mark = block.mark
    if "first" in mark:
        shell(host, mark["first"])
    if "file" in mark:
        path = host.outside(mark["file"].split()[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
    elif "table" in mark:
        for text in block.cells(name):
            shell(host, text)
    elif "until" in mark:
        shell(host, UNTIL.format(text=block.commands()[0][0], until=shlex.quote(mark["until"]), meanwhile=mark.get("meanwhile", ":")))
    else:
        for text, expected in block.commands():
            output = shell(host, text, mark.get("answers", "").split(", ") if "answers" in mark else None)
            assert not expected.strip() or matches(expected.strip(), output), f"{text}\nexpected: {expected}\nfound: {output}"
    if "then" in mark:
        shell(host, mark["then"])


def run_page(page, host, name):
    for block in blocks(page):
        if name in block.hosts:
            try:
                run(block, host, name)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error


@pytest.fixture(scope="module")
def alone(package):  # noqa: F811
    with booted(package) as host:
        shell(host, PREPARE)
        run_page(README, host, "alone")
        yield host


@pytest.fixture(scope="module")
def master(salt):  # noqa: F811
    shell(salt, PREPARE)
    run_page(README, salt, "salt")
    return salt


@needs_package
@pytest.mark.xdist_group("pages alone")
@pytest.mark.parametrize("page", RUN_ON["alone"], ids=lambda page: page.name)
def test_commands_of_a_page_work_on_a_single_host(page, alone):
    run_page(page, alone, "alone")


@needs_package
@pytest.mark.xdist_group("pages salt")
@pytest.mark.parametrize("page", RUN_ON["salt"], ids=lambda page: page.name)
def test_commands_of_a_page_work_in_front_of_a_master(page, master):
    run_page(page, master, "salt")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_of_a_page_is_run_or_says_why_not(page):
    assert [f"{block}: {mistake(block)}" for block in blocks(page) if mistake(block)] == []


def test_blocks_without_a_mark_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(page_blocks, "TOP", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("<!-- run: alone -->\n\n    $ a \\\n      b\n    out\n\n1. step\n\n       c\n\n<!-- not run: no -->\n```\nd\n```\n| task | command |\n| - | - |\n| e | `f` |\n")
    found = list(blocks(page))
    assert [bool(mistake(block)) for block in found] == [False, True, True, True]
    assert found[0].commands() == [("a \\\n  b", "out\n")] and found[1].text == "c\n"
    assert matches("at 12:00:00 ... end", "at 13:11:11 any end\n") and not matches("a", "b")
