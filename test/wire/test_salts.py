# SPDX-License-Identifier: MIT
"""Where real Salts are kept: one environment a release, in the user's cache, whatever else lies there."""

import os
import threading

import pytest

from support import salts


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A Python index in miniature: the names of the releases that pip would take, and how often it was asked."""
    asked = []

    def run(*argv):
        if "venv" in argv:
            (argv[-1] / "bin").mkdir(parents=True)
        elif "install" in argv:
            asked.append([word for word in argv if str(word).startswith("salt==")][0])
        return "3007.15\n"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(salts, "run", run)
    monkeypatch.setattr(salts, "_found", {})
    monkeypatch.setattr(salts, "NEWEST", False)
    monkeypatch.setattr(salts, "TOP", tmp_path / "clone")
    monkeypatch.setattr(salts, "recorded", lambda line: "3007.15")
    return asked


def forget(monkeypatch):
    monkeypatch.setattr(salts, "_found", {})


def test_a_release_is_installed_once_for_all_clones(index, tmp_path, monkeypatch):
    folder = salts.installed("3007")
    assert folder == tmp_path / "rest_fcgi/api-3007.15" and salts.release_of(folder) == "3007.15"
    forget(monkeypatch)
    assert salts.installed("3007") == folder and index == ["salt==3007.15"]


def test_two_runs_at_once_install_it_once(index, monkeypatch):
    found = []
    threads = [threading.Thread(target=lambda: found.append(salts._find("3007", False))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4 and len(index) == 1


def test_what_was_left_half_done_is_done_again(index, tmp_path):
    cache = tmp_path / "rest_fcgi"
    (cache / "api-3007.15/bin").mkdir(parents=True)
    (cache / ".3007-killed").mkdir()
    assert salts.installed("3007") == cache / "api-3007.15" and len(index) == 1
    assert not [path for path in cache.iterdir() if path.name.startswith(".3007")]


def test_the_newest_is_asked_for_and_kept_beside_the_recorded_one(index, tmp_path, monkeypatch):
    monkeypatch.setattr(salts, "recorded", lambda line: "3007.14")
    monkeypatch.setattr(salts, "NEWEST", True)
    assert salts.installed("3007", fresh=True).name == "api-3007.15" and index == ["salt==3007.*"]
    forget(monkeypatch)
    assert salts.installed("3007").name == "api-3007.15" and len(index) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("whose", ["the cache", "the environment"])
def test_what_somebody_else_could_have_put_there_is_not_run(index, tmp_path, whose):
    cache = tmp_path / "rest_fcgi"
    theirs = cache / "api-3007.15"
    theirs.mkdir(parents=True)
    (theirs / "complete").write_text("salt")
    os.chown(cache if whose == "the cache" else theirs, 65534, 65534)
    folder = salts.installed("3007")
    assert len(index) == 1 and folder.stat().st_uid == 0
    assert folder.parent == (tmp_path / "clone/build/salt" if whose == "the cache" else cache)


def test_a_cache_that_cannot_be_made_is_a_folder_of_the_build(index, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert salts.installed("3007").parent == tmp_path / "clone/build/salt"
