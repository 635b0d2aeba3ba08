# SPDX-License-Identifier: MIT
"""The page of rest_cherrypy and pages of other origins, in a real Chromium."""

import json

from support.api import JSON
from support.browser import pages
from support.daemon import BINARY
from support.nginx import certificate
from support.process import wait_until
from support.rest import api_of, login, serving, session

PICTURES = BINARY.parent / "pictures"
LOGIN = '{"username": "saltdev", "password": "x", "eauth": "file"}'


def log_in(browser, password="x", eauth="file"):
    browser.type("#username", "saltdev")
    browser.type("#password", password)
    browser.type("#eauth", eauth)
    browser.click("#login button")


def rows(browser, table):
    return browser.run(f"return [...document.querySelectorAll('#{table} tr')].map((row) => row.innerText)")


def unexpected(complaints):
    """Returns all messages except those about a 401 for a login or a request without a session."""
    return [text for text in complaints if "401 (Unauthorized)" not in text]


def test_the_page_logs_in_shows_minions_and_jobs_and_logs_out(on_port, browser):
    page = f"{on_port().url}/"
    browser.open(page)
    assert browser.complaints() == []
    browser.picture(PICTURES / "login.png")
    log_in(browser, eauth="nosuch")
    browser.await_text("Could not authenticate using provided credentials", "#message")
    log_in(browser)
    browser.await_text("saltdev", "header")
    browser.await_text("ms-2", "#minions")
    assert [row.split()[0] for row in rows(browser, "minions")] == ["ms-0", "ms-1", "ms-2"]
    assert not browser.shown("#login") and not browser.shown("#message")
    browser.click("#refresh")
    browser.await_text("grains.items", "#jobs")
    browser.picture(PICTURES / "inside.png")
    browser.open(page)
    browser.await_text("ms-2", "#minions")
    (cookie,) = browser.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    browser.click("#logout")
    browser.await_text("External auth", "#login")
    assert rows(browser, "minions") == [] and browser.cookies() == []
    assert unexpected(browser.complaints()) == []


def await_events(browser):
    wait_until(lambda: browser.run("return events.readyState === EventSource.OPEN"), "it hears events")


def run_job(api, prefix="", **low):
    body = json.dumps({"client": "local", "tgt": "*", "fun": "test.ping", **low})
    reply = api.request("POST", f"{prefix}/", body, {**JSON, **session(login(api, prefix=prefix))})
    assert reply.status == 200


def test_the_page_shows_returns_when_they_arrive(on_port, browser):
    api = on_port()
    browser.open(f"{api.url}/")
    log_in(browser)
    browser.await_text("grains.items", "#jobs")
    await_events(browser)
    before = len(rows(browser, "jobs"))
    run_job(api, fun="test.echo", arg=["x"])
    browser.await_text("test.echo", "#jobs")
    browser.await_text("3 of 3", "#jobs")
    shown = rows(browser, "jobs")
    assert len(shown) == before + 1 and "test.echo" in shown[0] and "saltdev" in shown[0]
    browser.run("document.querySelector('#jobs').replaceChildren()")
    browser.click("#refresh")
    browser.await_text("test.echo", "#jobs")
    browser.await_text("3 of 3", "#jobs")
    browser.click("#logout")
    browser.await_text("External auth", "#login")
    run_job(api)
    assert rows(browser, "jobs") == [] and unexpected(browser.complaints()) == []


def test_the_page_works_below_a_path_over_fastcgi(start, front, browser):
    changes = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}}
    nginx = front(start(changes), sample="prefix.conf")
    browser.open(f"http://127.0.0.1:{nginx.port}/api/")
    log_in(browser)
    browser.await_text("ms-2", "#minions")
    browser.await_text("grains.items", "#jobs")
    await_events(browser)
    run_job(nginx, "/api")
    browser.await_text("3 of 3", "#jobs")
    assert [cookie["path"] for cookie in browser.cookies()] == ["/api"]
    assert browser.complaints() == []


def test_the_cookie_is_secure_over_the_https_port(on_port, browser, directory):
    certificate(directory)
    api = on_port(disable_ssl=False, ssl_crt=str(directory / "cert.pem"), ssl_key=str(directory / "key.pem"))
    browser.open(f"https://localhost:{api.port}/")
    log_in(browser)
    browser.await_text("ms-2", "#minions")
    assert [cookie["secure"] for cookie in browser.cookies()] == [True] and browser.complaints() == []


def test_a_link_on_another_site_keeps_the_session(on_port, browser):
    with pages("127.0.0.1") as other_site:
        page = f"http://localhost:{on_port().port}/"
        browser.open(page)
        log_in(browser)
        browser.await_text("ms-2", "#minions")
        browser.open(other_site)
        browser.run(f"location.href = '{page}'; return 0")
        browser.await_text("ms-2", "#minions")
        assert browser.complaints() == []


def test_the_page_shows_why_a_call_is_refused(start, browser):
    changes = serving()
    start({**changes, "external_auth": {"file": {"saltdev": None, "fred": [{"ms-0": ["test.ping"]}, "@runner"]}}})
    browser.open(f"{api_of(changes).url}/")
    browser.type("#username", "fred")
    browser.type("#password", "x")
    browser.type("#eauth", "file")
    browser.click("#login button")
    browser.await_text("fred", "header")
    browser.await_text("Authorization error occurred", "#minions-message")
    assert not browser.shown("#jobs-message")


def test_the_page_shows_no_login_form_without_sessions(on_port, browser):
    browser.open(f"{on_port(enable_sessions=False).url}/")
    browser.await_text("enable_sessions is off")
    assert not browser.shown("#login") and browser.complaints() == []


APP = """<!DOCTYPE html><title>GUI</title><link rel="icon" href="/favicon.ico"><script src="/static/gui.js" type="module"></script>"""
GUI = """
const headers = { "Accept": "application/json", "Content-Type": "application/json" };
const login = await fetch("/login", { method: "POST", headers, body: JSON.stringify(%s) });
const token = login.headers.get("X-Auth-Token");
const minions = await fetch("/minions", { headers: { ...headers, "X-Auth-Token": token }, credentials: "omit" });
document.body.textContent = Object.keys((await minions.json()).return[0]).join(" ");
"""


def test_app_and_static_serve_a_custom_gui(on_port, browser, directory):
    gui = directory / "gui"
    gui.mkdir()
    (gui / "index.html").write_text(APP)
    (gui / "gui.js").write_text(GUI % LOGIN)
    (gui / "icon").write_text("")
    api = on_port(app=str(gui / "index.html"), static=str(gui), favicon=str(gui / "icon"))
    browser.open(f"{api.url}/anything")
    browser.await_text("ms-0 ms-1 ms-2")
    assert browser.complaints() == []


FETCH = """
const [url, token, body] = [%r, %r, %r];
const options = { headers: { "Accept": "application/json", "Content-Type": "application/json" }, credentials: token ? "omit" : "include" };
if (token) options.headers["X-Auth-Token"] = token;
if (body) { options.method = "POST"; options.body = body; }
return fetch(url, options).then(async (answer) => [answer.status, answer.headers.get("X-Auth-Token")], () => [0, null]);
"""


def fetch(browser, url, token="", body=""):
    return browser.run(FETCH % (url, token, body))


def test_a_page_of_a_named_origin_uses_the_cookie_on_the_same_site_only(on_port, browser):
    with pages("localhost") as same_site, pages("127.0.0.1") as other_site:
        api = f"http://localhost:{on_port(cors_origin=[same_site, other_site]).port}"
        browser.open(same_site)
        assert fetch(browser, f"{api}/login", body=LOGIN)[0] == 200
        assert fetch(browser, f"{api}/jobs")[0] == 200
        browser.open(other_site)
        status, token = fetch(browser, f"{api}/login", body=LOGIN)
        assert status == 200 and token
        assert fetch(browser, f"{api}/jobs")[0] == 401
        assert fetch(browser, f"{api}/jobs", token=token)[0] == 200


def test_a_page_of_an_unnamed_origin_uses_a_token_but_no_cookie(on_port, browser, directory):
    with pages("localhost") as stranger:
        log = directory / "access"
        api = f"http://localhost:{on_port(log_access_file=str(log)).port}"
        browser.open(f"{api}/")
        log_in(browser)
        browser.await_text("ms-2", "#minions")
        browser.open(stranger)
        # A form of a foreign page: the browser adds the cookie and the Origin header.
        form = "{mode: 'no-cors', credentials: 'include', method: 'POST', body: '[]'}"
        browser.run(f"return fetch('{api}/', {form}).then(() => 0)")
        assert '"POST / HTTP/1.1" 403 ' in log.read_text()
        assert fetch(browser, f"{api}/jobs") == [0, None]
        # Without cookies a login is independent of the open session.
        script = FETCH.replace('"include"', '"omit"') % (f"{api}/login", "", LOGIN)
        status, token = browser.run(script)
        assert status == 200 and fetch(browser, f"{api}/jobs", token=token)[0] == 200
