# SPDX-License-Identifier: MIT
"""The page of `GET /` in a browser, used as a person uses it."""

from .process import wait_until

CONTROLS = {"textbox", "searchbox", "combobox", "button", "link", "checkbox", "progressbar"}


def log_in(browser, user="saltdev", password="x", eauth=""):
    browser.type("#username", user)
    browser.type("#password", password)
    if eauth:
        browser.choose("#eauth", eauth)
    browser.click("#login button")


def enter(browser, url, user="saltdev", **more):
    """Opens the page, logs in, and waits until the page hears events."""
    browser.open(url)
    log_in(browser, user, **more)
    browser.await_text(user, "header")
    wait_until(lambda: browser.run("return isHearing()"), "it hears events")


def visit(browser, view):
    """Follows a link of the header."""
    browser.click(f"nav a[href='#{view}']")


def run_function(browser, fun, *args, target="*"):
    browser.type("#target", target)
    browser.type("#function", fun)
    browser.type("#arguments", "\n".join(args))
    browser.click("#run")


def texts(browser, selector):
    """Returns the visible texts of all elements."""
    return browser.run(f"return [...document.querySelectorAll({selector!r})].map((one) => one.innerText)")


def rows(browser, table):
    """Returns the texts of the cells of a table by its first cell, without the lines below the first."""
    script = f"return [...document.querySelectorAll('#{table} tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    return {first.split("\n")[0].split()[0]: cells for first, *cells in browser.run(script)}


def nameless_controls(browser):
    """Returns the roles of controls without a name for screen readers."""
    return [role for role, name in browser.accessibility() if role in CONTROLS and not name]


def unexpected(complaints):
    """Returns all messages except those about a 401 for a login or a request without a session or permission."""
    return [text for text in complaints if "401 (Unauthorized)" not in text]
