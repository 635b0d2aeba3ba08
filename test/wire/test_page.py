# SPDX-License-Identifier: MIT

import json
import time

from support.browser import KEYS
from support.page import (
    PICTURES,
    RULES,
    enter,
    log_in,
    nameless_controls,
    post,
    proxy_below,
    rows,
    run_function,
    slow_module,
    started,
    texts,
    unexpected,
    visit,
)
from support.process import wait_until
from support.rest import api_of, login, serving, session
from support.streams import Sse

def await_versions(browser):
    versions = dict.fromkeys(["ms-0", "ms-1", "ms-2"], ["up", "3006.28"])
    wait_until(lambda: {minion: [cells[0], cells[3]] for minion, cells in rows(browser, "minions").items()} == versions, "the versions are shown")


def test_returns_are_shown_when_they_come_with_failures_first(start, browser, directory):
    changes, go = slow_module(directory)
    url = f"{started(start, changes).url}/"
    enter(browser, url)
    run_function(browser, "slow.wait", str(go))
    browser.await_text("0 of 3 returned", "#progress-text")
    assert browser.shown("#waiting") == "Waiting for ms-0, ms-1, ms-2"
    for minion, progress in {"ms-0": "1 of 3 returned", "ms-1": "2 of 3 returned, 1 failed", "ms-2": "Done: 3 of 3 returned, 1 failed"}.items():
        assert minion in browser.shown("#waiting")
        (go / minion).touch()
        browser.await_text(progress, "#progress-text")
    shown = texts(browser, "#returns .return")
    assert shown[0].startswith("ms-1 failed, retcode 1") and "the disk is <b>full</b>" in shown[0]
    assert [text.split()[0] for text in shown[1:]] == ["ms-0", "ms-2"] and not browser.shown("#waiting")
    assert texts(browser, "#chips button") == ["✕ 1 failed", "✓ 2 ok"]
    widths = browser.run("return [...document.querySelectorAll('#gauge span')].map((part) => [part.className, Math.round(parseFloat(part.style.width))])")
    assert widths == [["failed", 33], ["missing", 0], ["ok", 67]]
    assert browser.run("return document.querySelector('#returns').getBoundingClientRect().top") < 500, "returns stand above the fold"
    browser.picture(PICTURES / "failures.png")
    browser.open(browser.run("return location.href.replace('#', '?#')"))  # the job is in the address
    browser.await_text("Done: 3 of 3 returned, 1 failed", "#progress-text")
    assert texts(browser, "#returns .return") == shown
    browser.click("#chips .failed")
    assert texts(browser, "#returns .return") == shown[:1]
    browser.click("#chips .failed")
    browser.type("#result-filter", "ms-2")
    assert texts(browser, "#returns .return") == shown[2:]
    assert json.loads(browser.run("return resultText()"))["ms-0"] == "ms-0", "the text that is copied and downloaded"
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return getComputedStyle(document.querySelector('#returns pre')).maxHeight") == "none", "print shows whole returns"
    browser.devtools("Emulation.setEmulatedMedia", media="")
    visit(browser, "jobs")
    browser.await_text("1 of 3 failed", "#jobs")
    assert browser.complaints() == []


def test_a_job_of_another_client_appears_in_the_list_and_progresses(start, browser, directory):
    changes, go = slow_module(directory)
    api = started(start, changes)
    enter(browser, f"{api.url}/")
    visit(browser, "jobs")
    browser.await_text("0 jobs", "#jobs-count")
    post(api, {"client": "local_async", "tgt": "*", "fun": "slow.wait", "arg": [str(go)]})
    (go / "ms-0").touch()
    browser.await_text("1 of 3 returned", "#jobs")
    browser.click("#jobs a")
    browser.await_text("1 of 3 returned", "#progress-text")
    (go / "ms-2").touch()
    browser.await_text("2 of 3 returned", "#progress-text")
    assert texts(browser, "#returns b") == ["ms-0", "ms-2"]
    (go / "ms-1").touch()
    browser.await_text("Done: 3 of 3 returned, 1 failed", "#progress-text")
    browser.click("#use")
    browser.await_text("Run a function", "#title")
    assert browser.run("return document.querySelector('#arguments').value") == str(go)
    assert browser.complaints() == []


def test_a_running_job_is_stopped_after_a_confirmation(start, browser, directory):
    changes, go = slow_module(directory)
    enter(browser, f"{started(start, changes).url}/")
    run_function(browser, "slow.wait", str(go))
    (go / "ms-0").touch()
    browser.await_text("1 of 3 returned", "#progress-text")
    browser.click("#stop")
    browser.await_text("Stop slow.wait on ms-1, ms-2?", "#confirm")
    assert browser.run("return document.activeElement.textContent") == "Cancel"
    browser.press("ENTER")
    assert browser.run("return document.activeElement.id") == "stop"
    browser.press("ENTER")
    browser.await_text("Stop slow.wait on ms-1, ms-2?", "#confirm")
    assert nameless_controls(browser) == []
    browser.picture(PICTURES / "stop.png")
    browser.click("#confirm-yes")
    browser.await_text("Done: 3 of 3 returned, 2 failed", "#progress-text")
    assert not browser.shown("#stop-actions") and browser.run("return document.activeElement.id") == "title"
    run_function(browser, "slow.wait", str(go / "nosuch"))
    browser.await_text("0 of 3 returned", "#progress-text")
    visit(browser, "jobs")
    browser.await_text("0 of 3 returned", "#jobs")
    browser.click("#jobs a")
    browser.await_text("0 of 3 returned", "#progress-text")
    browser.click("#kill")
    browser.click("#confirm-yes")
    browser.await_text("Done: 3 of 3 returned, 3 failed", "#progress-text")
    assert browser.complaints() == []


def test_a_key_is_deleted_after_a_question_with_its_fingerprint(start, browser):
    api = started(start)
    post(api, {"client": "wheel", "fun": "key.gen_accept", "id_": "ms-9"})
    enter(browser, f"{api.url}/")
    visit(browser, "keys")
    browser.await_text("4 keys, 0 to accept", "#keys-count")
    assert texts(browser, "#keys button") == ["Delete"], "minions of the configuration have no key to delete"
    finger = rows(browser, "keys")["ms-9"][1]
    browser.click("button[aria-label='Delete the accepted key of ms-9']")
    browser.await_text("Delete the accepted key of ms-9?", "#confirm")
    assert finger in browser.shown("#confirm")
    browser.picture(PICTURES / "delete.png")
    browser.press("ENTER")  # the focus is on Cancel
    assert rows(browser, "keys").keys() == {"ms-0", "ms-1", "ms-2", "ms-9"}
    browser.click("button[aria-label='Delete the accepted key of ms-9']")
    browser.click("#confirm-yes")
    browser.await_text("3 keys, 0 to accept", "#keys-count")
    assert browser.complaints() == []


def test_arguments_are_read_as_yaml_and_functions_are_documented(start, browser):
    enter(browser, f"{started(start).url}/")
    browser.await_text("functions: type a part", "#function-hint")
    lines = ["1", '"1"', "[a, {b: 2}]", "true", "1.5", 'echo "x" # y: *z', "key={a: [1]}", "20261126082611522847"]
    run_function(browser, "test.arg", *lines, target="ms-1")
    browser.await_text("Done: 1 of 1 returned", "#progress-text")
    browser.await_text('test.arg 1 "1" ["a", {"b": 2}] true 1.5 echo', "#result-title")
    returned = json.loads(browser.shown("#returns pre"))
    assert returned["args"] == [1, "1", ["a", {"b": 2}], True, 1.5, 'echo "x" # y: *z', "20261126082611522847"]
    assert returned["kwargs"]["key"] == {"a": [1]}
    visit(browser, "run")
    browser.await_text("Documentation of test.arg", "#doc")
    browser.click("#doc summary")
    browser.await_text("CLI Example:", "#doc-text")
    suggested = browser.run("return [...document.querySelectorAll('#functions option')].map((one) => one.value)")
    assert {"test.arg", "sys.doc", "cmd.run"} < set(suggested)
    run_function(browser, "test.arg", "[a", target="ms-1")
    browser.await_text("Arguments: did not find expected", "#run-message")
    run_function(browser, "test.ping", target="nosuch")
    browser.await_text("No minion matches the target.", "#run-message")
    assert not browser.shown("#result")


def test_numbers_and_texts_are_shown_and_run_again_as_they_are(start, browser, directory):
    changes, _ = slow_module(directory)
    api = started(start, changes)
    enter(browser, f"{api.url}/")
    run_function(browser, "slow.odd")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    assert "3 minions" in browser.shown("#returns"), "equal returns are a group"
    for text in ('"big": 12345678901234567', '"float": 5.0', '" x "', "a\\u202eb"):
        assert text in browser.shown("#returns pre")
    args = [12345678901234567, 123456789012345678901, "12345678901234567", 5.0, " x ", "a\nb", None, {"__kwarg__": True, "k": [" "], "password": "s3cret"}]
    (told,) = post(api, {"client": "local_async", "tgt": ["ms-0", "ms-2"], "tgt_type": "list", "fun": "test.arg", "arg": args})
    visit(browser, "jobs")
    browser.await_text("test.arg", "#jobs")
    assert "s3cret" not in browser.shown("#jobs")
    browser.click("#jobs a")
    browser.await_text("Done: 2 of 2 returned", "#progress-text")
    assert "s3cret" not in browser.shown("#result-title")
    first = json.loads(browser.shown("#returns pre"))
    assert first["args"] == args[:-1] and "123456789012345678901" in browser.shown("#returns pre")
    browser.click("#use")
    assert "s3cret" not in browser.run("return document.querySelector('#arguments').value")
    browser.click("#run")
    wait_until(lambda: browser.run("return location.hash").removeprefix("#job/") not in ("run", "#run", told["jid"]), "another job runs")
    browser.await_text("Done: 2 of 2 returned", "#progress-text")
    again = json.loads(browser.shown("#returns pre"))
    assert again["args"] == first["args"] and again["kwargs"]["k"] == [" "] and again["kwargs"]["password"] == "s3cret"
    assert browser.complaints() == []


def test_states_are_listed_with_failures_and_changes_first(start, browser, directory):
    changes, _ = slow_module(directory)
    enter(browser, f"{started(start, changes).url}/")
    run_function(browser, "slow.states")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    group, single = texts(browser, "#returns .return")
    assert group.startswith("2 minions") and "1 changed · 2 unchanged" in group and "+two" in group
    assert single.startswith("ms-1") and "1 failed · 1 changed · 1 unchanged" in single
    steps = texts(browser, "#returns .return:last-child .steps b")
    assert steps[:2] == ["service.running web", "file.managed /etc/conf"] and "822 ms" in single
    assert "test=True" not in browser.shown("#result-title")
    browser.click("#use")
    browser.run("document.querySelector('#test').value = 'true'")
    browser.click("#run")
    browser.await_text("test=True, nothing is changed", "#result-title")
    browser.await_text("1 would change", "#returns")
    assert browser.complaints() == []


def test_runners_and_wheels_run_from_the_page(start, browser):
    enter(browser, f"{started(start).url}/")
    browser.choose("#client", "Master: runner")
    browser.await_text("functions: type a part", "#function-hint")
    assert not browser.shown("#target-type")
    browser.type("#function", "manage.up")
    browser.await_text("Documentation of manage.up", "#doc")
    browser.click("#run")
    browser.await_text("runner.manage.up on master", "#result-title")
    assert json.loads(browser.shown("#returns pre")) == ["ms-0", "ms-1", "ms-2"]
    browser.click("#use")
    assert browser.run("return [document.querySelector('#client').value, document.querySelector('#function').value]") == ["runner", "manage.up"]
    browser.type("#arguments", "tgt=ms-1")
    browser.click("#run")
    browser.await_text('["ms-1"]', "#returns")
    visit(browser, "run")
    browser.choose("#client", "Master: wheel")
    browser.type("#function", "key.name_match")
    browser.type("#arguments", "ms-[01]")
    browser.click("#run")
    browser.await_text("wheel.key.name_match ms-[01] on master", "#result-title")
    assert json.loads(browser.shown("#returns pre")) == {"minions": ["ms-0", "ms-1"]}
    visit(browser, "run")
    browser.type("#function", "key.nosuch")
    browser.click("#run")
    browser.await_text("1 failed", "#progress-text")
    assert browser.complaints() == []


def test_many_minions_are_asked_for_and_equal_returns_are_one_group(start, browser):
    minions = {f"web-{number}": {} for number in range(30)}
    enter(browser, f"{started(start, {'rest_fcgi': {'embedded': {'minions': minions}}}).url}/")
    browser.await_text("functions: type a part", "#function-hint")
    assert browser.run("return document.querySelector('#target').value") == ""
    browser.type("#target", "web-1*")
    browser.await_text("11 minions matched", "#target-count")
    browser.type("#function", "test.ping")
    browser.press("ENTER")
    browser.await_text("Run test.ping on 11 minions (web-1*)?", "#confirm")
    browser.press("ENTER")  # the focus is on Cancel
    assert browser.run("return location.hash") in ("", "#run")
    browser.click("#run")
    browser.click("#confirm-yes")
    browser.await_text("Done: 11 of 11 returned", "#progress-text")
    assert [text.split()[:2] for text in texts(browser, "#returns .return")] == [["11", "minions"]]
    visit(browser, "run")
    browser.type("#target", "web-2,web-3")
    browser.choose("#target-type", "List")
    browser.await_text("2 minions matched", "#target-count")
    browser.type("#batch", "1")
    browser.click("#run")
    browser.await_text("Done: 2 of 2 returned", "#progress-text")
    assert browser.complaints() == []


def test_jobs_are_filtered_and_minions_show_their_grains(start, browser):
    minions = {"ms-0": {"pillar": {"color": "blue"}}, "ms-1": {}, "ms-2": {}}
    changes = {"nodegroups": {"first": "L@ms-0,ms-1"}, "rest_fcgi": {"embedded": {"minions": minions}}}
    enter(browser, f"{started(start, changes).url}/")
    for fun in ("test.ping", "test.version"):
        run_function(browser, fun)
        browser.await_text("Done: 3 of 3 returned", "#progress-text")
        browser.await_text(fun, "#result-title")
    visit(browser, "jobs")
    browser.await_text("2 jobs", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"test.version", "test.ping"}
    assert all([cells[0], cells[1], cells[4]] == ["✓\nok, 3 minions", "*", "saltdev"] for cells in rows(browser, "jobs").values())
    browser.type("#jobs-function", "vers")
    browser.await_text("1 job", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"test.version"}
    browser.type("#jobs-function", "grains")
    browser.await_text("0 jobs", "#jobs-count")
    browser.click("#queries")
    browser.await_text("grains.items", "#jobs")
    visit(browser, "minions")
    await_versions(browser)
    browser.await_text("L@ms-0,ms-1", "#groups")
    browser.click("#minions a")
    browser.await_text("saltversioninfo", "#grains")
    assert rows(browser, "grains")["id"] == ["ms-0"] and browser.shown("#title") == "ms-0"
    assert "last contact" in browser.shown("#minion-state")
    browser.click("#pillar-part summary")
    browser.await_text("blue", "#pillar")
    browser.click("#use")
    browser.await_text("Run a function", "#title")
    assert browser.run("return document.querySelector('#target').value") == "ms-0"
    visit(browser, "keys")
    browser.await_text("3 keys, 0 to accept", "#keys-count")
    assert rows(browser, "keys")["ms-2"][0].split()[0] == "accepted" and rows(browser, "keys")["ms-2"][1].count(":") == 31
    assert browser.complaints() == []


def test_a_user_with_few_rights_sees_the_views_and_names_of_the_rules(start, browser):
    api = started(start)
    enter(browser, f"{api.url}/", "fred")
    assert texts(browser, "nav a:not([hidden])") == ["Run", "Jobs", "Events"]
    browser.type("#target", "ms-0")
    browser.press(KEYS["TAB"])
    browser.await_text("your rules name test.ping", "#function-hint")
    run_function(browser, "test.ping", target="ms-0")
    browser.await_text("Done: 1 of 1 returned", "#progress-text")
    run_function(browser, "cmd.run", "id", target="ms-0")
    browser.await_text("Your rules do not allow cmd.run on ms-0.", "#run-message")
    assert not browser.shown("#result")
    for _ in range(2):
        visit(browser, "jobs")
        browser.await_text("Your rules do not allow the list of jobs (@jobs).", "#message")
        assert rows(browser, "jobs")["test.ping"][0] == "✓\nok"
        browser.open(f"{api.url}/?again")  # own jobs stay
        browser.await_text("fred", "header")
        assert texts(browser, "nav a:not([hidden])") == ["Run", "Jobs", "Events"]
    browser.click("#logout")
    assert browser.run("return sessionStorage.length") == 0
    assert unexpected(browser.complaints()) == []


def test_a_rule_for_some_minions_shows_these_minions(start, browser):
    served = serving()
    start({**served, "external_auth": {"file": {"saltdev": [{"ms-[12]": [".*"]}]}}})
    enter(browser, f"{api_of(served).url}/")
    visit(browser, "minions")
    wait_until(lambda: rows(browser, "minions").keys() == {"ms-1", "ms-2"}, "the minions of the rule are shown")
    assert texts(browser, "nav a:not([hidden])") == ["Run", "Jobs", "Minions", "Events"]
    assert unexpected(browser.complaints()) == []


def test_a_logout_ends_session_and_stream_and_leaves_nothing(start, browser):
    api = started(start)
    enter(browser, f"{api.url}/")
    run_function(browser, "test.ping")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    visit(browser, "minions")
    browser.await_text("ms-2", "#minions")
    (cookie,) = browser.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    stream = Sse(api, cookie["value"])
    browser.run("window.stream = events")
    browser.click("#logout")
    browser.await_text("External auth", "#login")
    assert browser.cookies() == [] and browser.run("return stream.readyState === EventSource.CLOSED")
    while stream.block():
        pass
    assert api.request("GET", "/jobs", headers=session(cookie["value"])).status == 401
    assert browser.run("return [sessionStorage.length, localStorage.length, jobs.size]") == [0, 0, 0]
    assert texts(browser, "td") == [] and texts(browser, ".return") == []
    assert unexpected(browser.complaints()) == []


def test_the_page_asks_for_a_login_when_the_session_ends(start, browser):
    api = started(start)
    enter(browser, f"{api.url}/")
    browser.type("#arguments", "half a command")
    (cookie,) = browser.cookies()
    assert api.request("POST", "/logout", "{}", session(cookie["value"])).status == 200
    browser.await_text("Your session has ended. Log in again.", "#login-message")
    log_in(browser)
    browser.await_text("live", "#link")
    assert browser.run("return document.querySelector('#arguments').value") == "half a command"


def test_the_login_form_offers_the_enabled_back_ends(start, browser):
    served = serving()
    start({**served, "external_auth": {"file": RULES, "auto": {"ann": ["test.*"]}, "ldap": {"ann": []}}, "rest_fcgi": {**served["rest_fcgi"], "allow_auto_eauth": True}})
    browser.open(f"{api_of(served).url}/")
    assert texts(browser, "#eauth option") == ["file", "auto"]
    browser.picture(PICTURES / "login.png")
    log_in(browser, "ann")
    browser.await_text("Could not authenticate using provided credentials", "#login-message")
    log_in(browser, "ann", eauth="auto")
    browser.await_text("ann", "header")


def test_without_events_returns_are_shown_at_the_end(start, browser):
    api = started(start, {"rest_fcgi": {"max_streams_per_user": 1}})
    stream = Sse(api, login(api))
    assert stream.status == 200
    browser.open(f"{api.url}/")
    log_in(browser)
    browser.await_text("functions: type a part", "#function-hint")
    run_function(browser, "test.arg", "a", target="ms-[01]")
    browser.await_text("Done: 2 of 2 returned", "#progress-text")
    browser.await_text("no events", "#link")
    visit(browser, "minions")
    await_versions(browser)


def test_the_keyboard_alone_logs_in_runs_and_opens_a_job(start, browser):
    browser.open(f"{started(start).url}/")
    browser.press("saltdev", "TAB", "x", "ENTER")  # the page puts the focus on the first field
    browser.await_text("functions: type a part", "#function-hint")
    assert browser.run("return document.activeElement.id") == "title"
    browser.press("TAB", "TAB", "TAB")
    assert browser.run("return document.activeElement.id") == "target"
    browser.press("*", "TAB", "test.arg")
    browser.await_text("Documentation of test.arg", "#doc")
    browser.press("TAB", "TAB", "TAB", "one", "TAB")
    assert browser.run("return document.activeElement.id") == "run"
    browser.press("ENTER")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    browser.run("document.querySelector(\"nav a[href='#jobs']\").focus()")
    browser.press("ENTER")
    browser.await_text("test.arg", "#jobs")
    assert browser.run("return document.activeElement.id") == "title"
    browser.press(*["TAB"] * 8, "ENTER")  # Refresh, five filters, check box, the first job
    browser.await_text("test.arg one on *", "#result-title")
    assert browser.run("return document.activeElement.id") == "title"


# The script returns all texts whose contrast with the background is below 4.5:1 (WCAG 2.1, success criterion 1.4.3).
LOW_CONTRAST = """
const rgb = (color) => color.match(/[\\d.]+/g).map(Number);
const backOf = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const [red, green, blue, alpha = 1] = rgb(getComputedStyle(one).backgroundColor);
    if (alpha === 1) return [red, green, blue];
  }
};
const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
return [...document.querySelectorAll("body, body *")].filter((one) => hasText(one) && one.checkVisibility()).map((one) => {
  const [more, less] = [light(rgb(getComputedStyle(one).color)), light(backOf(one))].sort((a, b) => b - a);
  return [one.innerText, (more + 0.05) / (less + 0.05)];
}).filter(([, contrast]) => contrast < 4.5);
"""


def test_controls_have_names_and_texts_have_contrast_in_light_and_dark(start, browser, directory):
    changes, go = slow_module(directory)
    for minion in ("ms-0", "ms-1", "ms-2"):
        (go / minion).touch()

    def check(picture):
        assert nameless_controls(browser) == []
        for scheme in ("light", "dark"):
            browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            assert browser.run(LOW_CONTRAST) == [], (picture, scheme)
            browser.picture(PICTURES / f"{picture}-{scheme}.png")

    browser.open(f"{started(start, changes).url}/")
    log_in(browser, password="wrong")
    browser.await_text("Could not authenticate", "#login-message")
    check("login")
    log_in(browser)
    browser.await_text("functions: type a part", "#function-hint")
    check("run")
    run_function(browser, "slow.states")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    check("states")
    run_function(browser, "slow.wait", str(go))
    browser.await_text("Done: 3 of 3 returned, 1 failed", "#progress-text")
    assert ("progressbar", "Done: 3 of 3 returned, 1 failed") in browser.accessibility()
    check("job")
    for view, text in {"jobs": "slow.wait", "minions": "ms-2", "keys": "ms-2", "events": "No event yet"}.items():
        visit(browser, view)
        browser.await_text(text, f"#{view if view != 'events' else 'inside'}")
        check(view)
    browser.devtools("Emulation.setDeviceMetricsOverride", width=375, height=812, deviceScaleFactor=2, mobile=True)
    for view in ("run", "jobs", "minions", "keys", "events"):
        visit(browser, view)
        assert browser.run("return document.documentElement.scrollWidth") == 375, "no view scrolls sideways"
        browser.picture(PICTURES / f"{view}-narrow.png")


def test_an_address_that_names_no_job_gets_a_sentence(start, browser):
    url = f"{started(start).url}/"
    enter(browser, url)
    for address in ("#job/%E0%A4%A", "#job/"):
        browser.run(f"location.hash = {address!r}; return 0")
        browser.await_text("names no job", "#message")
        assert not browser.shown("#result") and not browser.shown("#run-view")
    browser.run("location.hash = '#job/20200101000000000000'; return 0")
    browser.await_text("The job 20200101000000000000 is not known", "#message")
    assert browser.complaints() == []


def test_the_page_works_below_a_path_that_holds_event_streams_back(start, browser):
    with proxy_below(started(start), "/salt/") as url:
        browser.open(url)
        log_in(browser)
        browser.await_text("functions: type a part", "#function-hint")
        run_function(browser, "test.ping")
        browser.await_text("Done: 3 of 3 returned", "#progress-text")
        browser.await_text("connecting", "#link")
        visit(browser, "minions")
        await_versions(browser)


def test_the_page_says_that_it_reconnects_and_catches_up(start, browser):
    api = started(start)
    enter(browser, f"{api.url}/")
    browser.await_text("live", "#link")
    visit(browser, "jobs")
    browser.await_text("0 jobs", "#jobs-count")
    token = login(api)
    assert api.daemon.stop() == 0
    browser.await_text("reconnecting since", "#link")
    browser.run("window.held = listen; listen = () => {}; return 0")
    time.sleep(1.5)  # the page has called `listen`
    api.daemon.start_again()
    post(api, {"client": "local", "tgt": "*", "fun": "test.version"}, token)
    browser.run("listen = held; listen(); return 0")
    browser.await_text("live", "#link")
    browser.await_text("test.version", "#jobs")


def test_the_list_of_jobs_answers_what_failed_and_is_bounded(start, browser, directory):
    changes, go = slow_module(directory)
    (go / "ms-1").touch()
    api = started(start, changes)
    token = login(api)
    post(api, [{"client": "local", "tgt": "ms-1", "fun": "slow.wait", "arg": [str(go)]}], token)
    post(api, [{"client": "local", "tgt": "ms-0", "fun": "test.ping"}] * 40, token)
    noise = [("saltutil.find_job", ["x"]), ("saltutil.term_job", ["x"]), ("grains.items", [])]
    post(api, [{"client": "local", "tgt": "ms-0", "fun": fun, "arg": arg} for fun, arg in noise], token)
    enter(browser, f"{api.url}/")
    visit(browser, "jobs")
    browser.await_text("25 jobs on this page", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"test.ping"}, "queries are hidden"
    browser.click("#older")
    browser.await_text("16 jobs on this page", "#jobs-count")
    assert rows(browser, "jobs")["slow.wait"][0] == "✕\n1 of 1 failed"
    browser.click("#newer")
    browser.await_text("25 jobs on this page", "#jobs-count")
    post(api, [{"client": "local", "tgt": "ms-0", "fun": "test.version"}] * 30, token)
    wait_until(lambda: rows(browser, "jobs").keys() == {"test.version"}, "new jobs take the places")
    assert browser.shown("#jobs-count") == "25 jobs on this page"
    browser.choose("#jobs-state", "failed")
    browser.await_text("1 job", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"slow.wait"}
    browser.choose("#jobs-since", "12 hours ago")
    browser.type("#jobs-user", "nobody")
    browser.await_text("0 jobs", "#jobs-count")
    assert browser.complaints() == []


def test_events_are_shown_and_filtered(start, browser):
    api = started(start)
    enter(browser, f"{api.url}/")
    visit(browser, "events")
    wait_until(lambda: browser.run("return isHearing() && !events.url.includes('tag=')"), "the stream has all tags")
    post(api, {"client": "local", "tgt": "ms-[01]", "fun": "test.ping"})
    browser.await_text("/ret/ms-1", "#stream")
    browser.type("#events-filter", "salt/job/*/new")
    wait_until(lambda: len(texts(browser, "#stream li")) == 1, "the filter selects one event")
    browser.click("#stream summary")
    browser.await_text('"tgt": "ms-[01]"', "#stream")
    visit(browser, "run")
    wait_until(lambda: browser.run("return isHearing() && events.url.includes('tag=')"), "the stream has the tags of jobs")
    assert browser.complaints() == []


def test_a_hidden_page_has_no_stream(start, browser):
    enter(browser, f"{started(start).url}/")
    visit(browser, "jobs")
    browser.await_text("0 jobs", "#jobs-count")
    browser.hide()
    wait_until(lambda: browser.run("return document.hidden && !events"), "the stream is closed")
    browser.run("start({ tgt: '*', fun: 'test.version' }); return 0")
    browser.show()
    wait_until(lambda: browser.run("return !document.hidden && isHearing()"), "the page receives events again")
    browser.await_text("test.version", "#jobs")
