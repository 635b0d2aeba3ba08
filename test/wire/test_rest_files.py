# SPDX-License-Identifier: MIT
"""Files of `rest_cherrypy: static`, `app` and `favicon`, over both front ends."""

import os

import pytest

from support.rest import WAYS_IN, api_of, serving

BIG = "".join(f"line {number}\n" for number in range(100_000))
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def files(directory):
    static = directory / "gui/static"
    (static / "sub").mkdir(parents=True)
    (static / "big.txt").write_text(BIG)
    (static / "sub/index.html").write_text("<p>index")
    (static / "link").symlink_to("big.txt")
    (directory / "secret").write_text("secret")
    (static / "out").symlink_to(directory / "secret")
    (directory / "gui/index.html").write_text("<!DOCTYPE html><p>a GUI")
    (directory / "gui/icon").write_text("icon")
    return static


@pytest.fixture(params=WAYS_IN)
def rest(request, start, front, files):
    gui = files.parent
    changes = serving(static=str(files), app=str(gui / "index.html"), favicon=str(gui / "icon"))
    daemon = start(changes)
    return front(daemon) if request.param == "fastcgi" else api_of(changes)


def get(rest, path, **headers):
    return rest.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_a_large_file_arrives_whole_and_in_parts(rest):
    whole = get(rest, "/static/big.txt")
    assert (whole.status, whole.headers["content-type"]) == (200, "text/plain;charset=utf-8") and whole.text == BIG
    assert whole.headers["content-length"] == str(len(BIG))
    head = rest.request("HEAD", "/static/big.txt")
    assert (head.status, head.text, head.headers["content-length"]) == (200, "", str(len(BIG)))
    part = get(rest, "/static/link", Range=f"bytes={len(BIG) - 200000}-")
    assert (part.status, part.text) == (206, BIG[-200000:])
    assert get(rest, "/static/big.txt", Range=f"bytes={len(BIG)}-").status == 416
    assert get(rest, "/static/big.txt", If_Modified_Since=whole.headers["last-modified"]).status == 304


def test_nothing_outside_of_the_folder_is_served(rest):
    for path in ("/static/out", "/static/../index.html", "/static/%2e%2e/index.html", "/static/..%2f..%2fsecret", "/static//etc/passwd"):
        reply = get(rest, path, Accept="application/json")
        assert reply.status in (301, 400, 403, 404) and "secret" not in reply.text and "root:" not in reply.text, path


def test_a_folder_has_its_index_and_links_in_it_are_right(rest):
    moved = get(rest, "/static/sub")
    assert moved.status == 301 and moved.headers["location"].endswith("/static/sub/")
    assert get(rest, "/static/sub/").text == "<p>index"
    assert get(rest, "/static/").status == 404


def test_browsers_get_the_app_and_programs_what_they_ask_for(rest):
    for path in ("/", "/minions", "/app", "/app/deep"):
        assert get(rest, path, **BROWSER).text.endswith("a GUI"), path
    assert get(rest, "/", Accept="application/json").ret == "Welcome"
    icon = get(rest, "/favicon.ico", Accept="image/*")
    assert (icon.status, icon.text) == (200, "icon")


def test_what_changes_on_disk_changes_at_once(rest, files):
    (files / "new.js").write_text("let a;")
    assert get(rest, "/static/new.js").headers["content-type"] == "text/javascript;charset=utf-8"
    os.remove(files / "new.js")
    assert get(rest, "/static/new.js").status == 404
