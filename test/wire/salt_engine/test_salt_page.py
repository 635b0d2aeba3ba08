# SPDX-License-Identifier: MIT

import shutil

import pytest

from support import salts
from support.daemon import BINARY
from support.page import enter, rows, run_function, texts, unexpected, visit
from support.process import wait_until
from support.salt_master import DEAD, MINIONS

FIRST_SERIES = pytest.mark.parametrize("salt", salts.SERIES[:1], indirect=True)
PENDING = "new-1"


@pytest.fixture
def pending(salt):
    """Adds the key of a new minion, which the master has not accepted, and denies another key of the dead minion."""
    pki = salt.home / "master/pki"
    shutil.copy(pki / "minions" / MINIONS[0], pki / "minions_pre" / PENDING)
    shutil.copy(pki / "minions" / MINIONS[0], pki / "minions_denied" / DEAD)
    yield PENDING
    for state in ("minions_pre", "minions", "minions_rejected"):
        (pki / state / PENDING).unlink(missing_ok=True)
    (pki / "minions_denied" / DEAD).unlink(missing_ok=True)


def run_slow_job(browser):
    """Runs a job that takes long, and stops it."""
    visit(browser, "run")
    browser.choose("#client", "Minions")
    run_function(browser, "test.sleep", "60", target=MINIONS[0])
    browser.await_text("0 of 1 returned", "#progress-text")
    browser.click("#stop")
    browser.click("#confirm-yes")
    browser.await_text("A signal was sent on 1 minion.", "#stop-status")


@FIRST_SERIES
@pytest.mark.parametrize("way", ["rest_cherrypy", "rest_tornado"])
def test_the_page_works_in_front_of_a_real_master(engine, browser, pending, way):
    enter(browser, f"http://127.0.0.1:{engine.ports[way]}/", eauth="file")
    browser.await_text("functions: type a part", "#function-hint")
    run_function(browser, "test.arg", "1", "[a, 5]", "k=v")
    count = len(MINIONS)
    browser.await_text(f"{count} of {count + 1} returned", "#progress-text")
    assert browser.shown("#waiting") == f"Waiting for {DEAD}"
    browser.picture(BINARY.parent / "pictures/real-master.png")
    assert all('"a",' in text and '"k": "v"' in text for text in texts(browser, "#returns pre"))
    browser.await_text(f"Done: {count} of {count + 1} returned, 1 did not answer", "#progress-text")
    assert DEAD in texts(browser, "#returns .return")[0] and not browser.shown("#stop-actions")
    run_function(browser, "test.exception", "boom", target=MINIONS[0])
    browser.await_text("Done: 1 of 1 returned, 1 failed", "#progress-text")
    assert "boom" in browser.shown("#returns")
    browser.open(f"http://127.0.0.1:{engine.ports[way]}/?again#jobs")
    wait_until(lambda: rows(browser, "jobs").get("test.exception", [""])[0] == "✕\n1 of 1 failed", "the state is shown")
    wait_until(lambda: "1 did not answer" in rows(browser, "jobs")["test.arg"][0], "the silent minion is counted")
    assert not {"saltutil.find_job", "grains.items", "runner.jobs.list_job"} & rows(browser, "jobs").keys()
    browser.picture(BINARY.parent / "pictures/real-master-jobs.png")
    browser.click("#jobs a")
    browser.await_text("Done: 1 of 1 returned, 1 failed", "#progress-text")
    visit(browser, "run")
    browser.choose("#client", "Master: runner")
    browser.type("#function", "manage.present")
    browser.click("#run")
    browser.await_text("runner.manage.present on master", "#result-title")
    assert browser.shown("#chips") == "✓ 1 ok"
    visit(browser, "minions")
    wait_until(lambda: len([cells for cells in rows(browser, "minions").values() if cells[3].startswith(engine.salt.series)]) == count, "all answer")
    browser.await_text("N@web or L@ms-2", "#groups")
    wait_until(lambda: rows(browser, "minions")[DEAD][0] == "down: did not answer", "the dead minion is down")
    browser.picture(BINARY.parent / "pictures/real-master-minions.png")
    visit(browser, "keys")
    browser.await_text("1 to accept", "#keys-count")
    assert rows(browser, "keys")[pending][1] == rows(browser, "keys")[MINIONS[0]][1], "the fingerprint of the same key"
    keys = engine.salt.home / "master/pki"
    browser.click(f"button[aria-label='Delete the denied key of {DEAD}']")
    browser.await_text(rows(browser, "keys")[MINIONS[0]][1], "#confirm")
    browser.click("#confirm-yes")
    wait_until(lambda: not (keys / "minions_denied" / DEAD).exists(), "the denied key is deleted")
    assert (keys / "minions" / DEAD).exists(), "the accepted key of the same minion stays"
    browser.click(f"button[aria-label='Reject the waiting key of {pending}']")
    browser.click("#confirm-yes")
    browser.await_text("0 to accept", "#keys-count")
    assert rows(browser, "keys")[pending][0].split()[0] == "rejected" and (keys / "minions_rejected" / pending).exists()
    (keys / "minions_rejected" / pending).rename(keys / "minions_pre" / pending)
    browser.click("#refresh")
    browser.await_text("1 to accept", "#keys-count")
    browser.click(f"button[aria-label='Accept the waiting key of {pending}']")
    browser.click("#confirm-yes")
    browser.await_text("0 to accept", "#keys-count")
    assert rows(browser, "keys")[pending][0].split()[0] == "accepted" and (keys / "minions" / pending).exists()
    browser.click(f"button[aria-label='Delete the accepted key of {pending}']")
    browser.click("#confirm-yes")
    wait_until(lambda: pending not in rows(browser, "keys"), "the key is gone")
    assert not (keys / "minions" / pending).exists()
    run_slow_job(browser)
    browser.click("#logout")
    browser.await_text("External auth", "#login")
    assert browser.cookies() == [] and unexpected(browser.complaints()) == []
