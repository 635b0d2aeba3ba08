# SPDX-License-Identifier: MIT
"""The web page of `GET /` and pages of other origins, in a real Chromium."""

from support.browser import pages
from support.page import enter, log_in, run_function, visit

LOGIN = '{"username": "saltdev", "password": "x", "eauth": "file"}'


def test_the_page_works_below_a_path_over_fastcgi(start, front, browser):
    changes = {"rest_fcgi": {"netapi": ["rest_cherrypy"]}}
    nginx = front(start(changes), sample="prefix")
    enter(browser, f"http://127.0.0.1:{nginx.port}/api/")
    run_function(browser, "test.ping")
    browser.await_text("Done: 3 of 3 returned", "#progress-text")
    visit(browser, "jobs")
    browser.await_text("test.ping", "#jobs")
    assert [cookie["path"] for cookie in browser.cookies()] == ["/api"]
    assert browser.complaints() == []


def test_a_link_on_another_site_keeps_the_session(on_port, browser):
    with pages("127.0.0.1") as other_site:
        page = f"http://localhost:{on_port().port}/"
        browser.open(page)
        log_in(browser)
        browser.await_text("saltdev", "header")
        browser.open(other_site)
        browser.run(f"location.href = '{page}'; return 0")
        browser.await_text("saltdev", "header")
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
        browser.await_text("saltdev", "header")
        browser.open(stranger)
        # The page of another origin sends a POST request, as a form can do. The browser adds the cookie and the Origin header.
        form = "{mode: 'no-cors', credentials: 'include', method: 'POST', body: '[]'}"
        browser.run(f"return fetch('{api}/', {form}).then(() => 0)")
        assert '"POST / HTTP/1.1" 403 ' in log.read_text()
        assert fetch(browser, f"{api}/jobs") == [0, None]
        script = FETCH.replace('"include"', '"omit"') % (f"{api}/login", "", LOGIN)
        status, token = browser.run(script)
        assert status == 200 and fetch(browser, f"{api}/jobs", token=token)[0] == 200
