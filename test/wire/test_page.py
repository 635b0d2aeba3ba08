# SPDX-License-Identifier: MIT

import json
import textwrap

from support.browser import KEYS
from support.daemon import BINARY
from support.page import enter, log_in, nameless_controls, rows, run_function, texts, unexpected, visit
from support.process import wait_until
from support.rest import api_of, login, serving, session
from support.streams import Sse

PICTURES = BINARY.parent / "pictures"
RULES = {"saltdev": [".*", "@runner", "@wheel", "@jobs"], "fred": [{"ms-0": ["test.ping"]}]}
# The function of this module returns on a minion when a file with the minion's name exists.
SLOW = """
    import os
    import time

    def wait(folder):
        '''
        Wait for a file.

        CLI Example:

            salt '*' slow.wait /tmp
        '''
        while not os.path.exists(os.path.join(folder, __grains__["id"])):
            time.sleep(0.01)
        if __grains__["id"] == "ms-1":
            raise RuntimeError("the disk is <b>full</b>")
        return __grains__["id"]
"""


def slow_module(directory):
    """Writes the module `slow`. Returns a configuration with the module, and the folder of its files."""
    directory.chmod(0o711)
    for name in ("modules", "go"):
        (directory / name).mkdir(mode=0o755)
    (directory / "modules/slow.py").write_text(textwrap.dedent(SLOW))
    return {"rest_fcgi": {"embedded": {"module_dirs": [str(directory / "modules")]}}}, directory / "go"


def started(start, changes=None, **section):
    """Starts the program with both users. Returns its Api."""
    served = serving(**section)
    more = changes or {}
    start({**served, **more, "external_auth": {"file": RULES}, "rest_fcgi": {**served["rest_fcgi"], **more.get("rest_fcgi", {})}})
    return api_of(served)


def await_versions(browser):
    versions = dict.fromkeys(["ms-0", "ms-1", "ms-2"], "3006.28")
    wait_until(lambda: {minion: cells[1] for minion, cells in rows(browser, "minions").items()} == versions, "the versions are shown")


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
    shown = texts(browser, "#result .return")
    assert shown[0].startswith("ms-1 failed, retcode 1") and "the disk is <b>full</b>" in shown[0]
    assert sorted(text.split()[0] for text in shown[1:]) == ["ms-0", "ms-2"]
    assert browser.run("return document.querySelector('progress').position") == 1 and not browser.shown("#waiting")
    browser.picture(PICTURES / "failures.png")
    browser.open(url)
    visit(browser, "jobs")
    browser.await_text("slow.wait", "#jobs")
    browser.click("#jobs a")
    browser.await_text("Done: 3 of 3 returned, 1 failed", "#progress-text")
    assert texts(browser, "#failures .return") == shown[:1] and len(texts(browser, "#returns .return")) == 2
    assert browser.complaints() == []


def test_a_job_of_another_client_appears_in_the_list_and_progresses(start, browser, directory):
    changes, go = slow_module(directory)
    api = started(start, changes)
    enter(browser, f"{api.url}/")
    visit(browser, "jobs")
    browser.await_text("0 jobs", "#jobs-count")
    low = {"client": "local_async", "tgt": "*", "fun": "slow.wait", "arg": [str(go)]}
    headers = {"Content-Type": "application/json", **session(login(api))}
    assert api.request("POST", "/", json.dumps(low), headers).status == 200
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
    assert not browser.shown("#stop-actions")
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


def test_a_key_is_deleted_after_a_confirmation(start, browser):
    api = started(start)
    headers = {"Content-Type": "application/json", **session(login(api))}
    low = {"client": "wheel", "fun": "key.gen_accept", "id_": "ms-9"}
    assert api.request("POST", "/", json.dumps(low), headers).status == 200
    enter(browser, f"{api.url}/")
    visit(browser, "keys")
    browser.await_text("4 keys, 0 to accept", "#keys-count")
    delete = "button[aria-label='Delete the key of ms-9']"
    browser.click(delete)
    browser.await_text("Delete the key of ms-9?", "#confirm")
    browser.picture(PICTURES / "delete.png")
    browser.press("ENTER")  # the focus is on Cancel
    assert rows(browser, "keys").keys() == {"ms-0", "ms-1", "ms-2", "ms-9"}
    browser.click(delete)
    browser.click("#confirm-yes")
    browser.await_text("3 keys, 0 to accept", "#keys-count")
    browser.click("button[aria-label='Delete the key of ms-0']")
    browser.click("#confirm-yes")
    browser.await_text("The key of ms-0 is still accepted", "#message")
    assert browser.complaints() == []


def test_arguments_are_read_as_yaml_and_functions_are_documented(start, browser):
    enter(browser, f"{started(start).url}/")
    browser.await_text("functions: type a part", "#function-hint")
    lines = ["1", '"1"', "[a, {b: 2}]", "true", "1.5", 'echo "x" # y: *z', "key={a: [1]}", "20261126082611522847"]
    run_function(browser, "test.arg", *lines, target="ms-1")
    browser.await_text("Done: 1 of 1 returned", "#progress-text")
    assert browser.shown("#result-title").startswith('test.arg 1 "1" [a, {b: 2}] true 1.5 echo')
    returned = json.loads(browser.shown("#returns pre"))
    assert returned["args"] == [1, "1", ["a", {"b": 2}], True, 1.5, 'echo "x" # y: *z', "20261126082611522847"]
    assert returned["kwargs"]["key"] == {"a": [1]}
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


def test_jobs_are_filtered_and_minions_show_their_grains(start, browser):
    enter(browser, f"{started(start).url}/")
    for fun in ("test.ping", "test.version"):
        run_function(browser, fun)
        browser.await_text("Done: 3 of 3 returned", "#progress-text")
        browser.await_text(fun, "#result-title")
    visit(browser, "jobs")
    browser.await_text("2 jobs", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"test.version", "test.ping"}
    assert all(cells[0] == "*" and cells[2] == "saltdev" for cells in rows(browser, "jobs").values())
    browser.type("#jobs-filter", "vers")
    browser.await_text("1 job", "#jobs-count")
    assert rows(browser, "jobs").keys() == {"test.version"}
    browser.type("#jobs-filter", "grains")
    browser.await_text("0 jobs", "#jobs-count")
    browser.click("#queries")
    browser.await_text("grains.items", "#jobs")
    visit(browser, "minions")
    await_versions(browser)
    browser.click("#minions a")
    browser.await_text("saltversioninfo", "#grains")
    assert rows(browser, "grains")["id"] == ["ms-0"] and browser.shown("#title") == "ms-0"
    browser.click("#use")
    browser.await_text("Run a function", "#title")
    assert browser.run("return document.querySelector('#target').value") == "ms-0"
    visit(browser, "keys")
    browser.await_text("3 keys, 0 to accept", "#keys-count")
    assert rows(browser, "keys")["ms-2"][0].split()[0] == "accepted" and rows(browser, "keys")["ms-2"][1].count(":") == 31
    assert browser.complaints() == []


def test_a_user_with_few_rights_sees_what_the_rules_do_not_allow(start, browser):
    enter(browser, f"{started(start).url}/", "fred")
    browser.type("#target", "ms-0")
    browser.press(KEYS["TAB"])
    browser.await_text("sys.list_functions: Your rules do not allow this.", "#function-hint")
    run_function(browser, "test.ping", target="ms-0")
    browser.await_text("Done: 1 of 1 returned", "#progress-text")
    run_function(browser, "cmd.run", "id", target="ms-0")
    browser.await_text("Your rules do not allow cmd.run on ms-0.", "#run-message")
    assert not browser.shown("#result")
    visit(browser, "jobs")
    browser.await_text("Your rules do not allow the list of jobs (@jobs).", "#message")
    assert rows(browser, "jobs").keys() == {"test.ping"}
    for view, rule in {"minions": "grains.items", "keys": "@wheel"}.items():
        visit(browser, view)
        browser.await_text(rule, "#message")
        assert rows(browser, view) == {}
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
    (cookie,) = browser.cookies()
    assert api.request("POST", "/logout", "{}", session(cookie["value"])).status == 200
    browser.await_text("Your session has ended. Log in again.", "#login-message")


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
    assert "web server does not pass on events" in browser.shown("#run-status")
    visit(browser, "minions")
    await_versions(browser)


def test_the_keyboard_alone_logs_in_runs_and_opens_a_job(start, browser):
    browser.open(f"{started(start).url}/")
    browser.press("saltdev", "TAB", "x", "ENTER")  # the page puts the focus on the first field
    browser.await_text("functions: type a part", "#function-hint")
    assert browser.run("return document.activeElement.id") == "title"
    browser.press("TAB")
    assert browser.run("return document.activeElement.id") == "target"
    browser.press("TAB", "TAB", "test.arg")
    browser.await_text("Documentation of test.arg", "#doc")
    browser.press("TAB", "TAB", "one", "TAB", "ENTER")
    assert browser.run("return document.activeElement.id") == "run"
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    browser.run("document.querySelector(\"nav a[href='#jobs']\").focus()")
    browser.press("ENTER")
    browser.await_text("test.arg", "#jobs")
    assert browser.run("return document.activeElement.id") == "title"
    browser.press("TAB", "TAB", "TAB", "TAB", "ENTER")  # Refresh, filter, check box, the first job
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
    run_function(browser, "slow.wait", str(go))
    browser.await_text("Done: 3 of 3 returned, 1 failed", "#progress-text")
    assert ("progressbar", "Done: 3 of 3 returned, 1 failed") in browser.accessibility()
    check("run")
    for view, text in {"jobs": "slow.wait", "minions": "ms-2", "keys": "ms-2"}.items():
        visit(browser, view)
        browser.await_text(text, f"#{view}")
        check(view)
    browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    for view in ("run", "jobs", "minions", "keys"):
        visit(browser, view)
        assert browser.run("return document.documentElement.scrollWidth") == 390, "only tables scroll sideways"
        browser.picture(PICTURES / f"{view}-narrow.png")
