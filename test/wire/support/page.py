# SPDX-License-Identifier: MIT

from .process import wait_until

CONTROLS = {"textbox", "searchbox", "combobox", "button", "link", "checkbox", "progressbar"}


def log_in(browser, user="saltdev", password="x", eauth=""):
    browser.type("#username", user)
    browser.type("#password", password)
    if eauth:
        browser.choose("#eauth", eauth)
    browser.click("#login button")


def enter(browser, url, user="saltdev", **more):
    """Opens the page, logs in, and waits until the page receives events."""
    browser.open(url)
    log_in(browser, user, **more)
    browser.await_text(user, "header")
    wait_until(lambda: browser.run("return isHearing()"), "the page receives events")


def visit(browser, view):
    browser.click(f"nav a[href='#{view}']")


def run_function(browser, fun, *args, target="*"):
    browser.type("#target", target)
    browser.type("#function", fun)
    browser.type("#arguments", "\n".join(args))
    browser.click("#run")


def texts(browser, selector):
    return browser.run(f"return [...document.querySelectorAll({selector!r})].map((one) => one.innerText)")


def rows(browser, table):
    """Returns the texts of a table's rows by the text of their first cell."""
    script = f"return [...document.querySelectorAll('#{table} tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    return {first.split("\n")[0].split()[0]: cells for first, *cells in browser.run(script)}


def nameless_controls(browser):
    """Returns the roles of controls that have no name for screen readers."""
    return [role for role, name in browser.accessibility() if role in CONTROLS and not name]


def unexpected(complaints):
    """Returns all console messages except messages about status 401."""
    return [text for text in complaints if "401 (Unauthorized)" not in text]
