# SPDX-License-Identifier: MIT

import contextlib
import http.client
import http.server
import json
import textwrap
import threading

from .daemon import BINARY
from .process import free_port, wait_until
from .rest import api_of, login, serving, session

PICTURES = BINARY.parent / "pictures"
RULES = {"saltdev": [".*", "@runner", "@wheel", "@jobs"], "fred": [{"ms-0": ["test.ping"]}]}
# The function `wait` returns on a minion when a file with the minion's name exists. `states` returns as state.apply does.
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

    def states(test=False):
        def one(number, result, comment, changes, duration):
            return {"__run_num__": number, "result": result, "comment": comment, "changes": changes, "duration": duration}

        changed = one(1, None if test else True, "Updated", {"diff": "-one\\n+two"}, 31.0 + len(__grains__["id"]))
        return {
            "file_|-/etc/motd_|-/etc/motd_|-managed": one(0, True, "Is correct", {}, 1.5),
            "file_|-/etc/conf_|-/etc/conf_|-managed": changed,
            "service_|-web_|-web_|-running": one(2, __grains__["id"] != "ms-1", "Checked", {}, 822.0),
        }

    def odd():
        return {"big": 12345678901234567, "float": 5.0, "blanks": " x ", "turned": "a\\u202eb"}
"""

CONTROLS = {"textbox", "searchbox", "combobox", "button", "link", "checkbox", "progressbar"}


def slow_module(directory):
    """Writes the module `slow`. Returns a configuration with the module, and the folder of its files."""
    directory.chmod(0o711)
    for name in ("modules", "go"):
        (directory / name).mkdir(mode=0o755)
    (directory / "modules/slow.py").write_text(textwrap.dedent(SLOW))
    return {"rest_fcgi": {"embedded": {"module_dirs": [str(directory / "modules")]}}}, directory / "go"


def started(start, changes=None, **section):
    """Starts the program with both users. Returns its Api, which has the daemon."""
    served = serving(**section)
    more = changes or {}
    own = {"external_auth": {"file": RULES}, "rest_fcgi": {**served["rest_fcgi"], **more.get("rest_fcgi", {})}}
    daemon = start({**served, **more, **own})
    api = api_of(served)
    api.daemon = daemon
    return api


def post(api, low, token=""):
    headers = {"Content-Type": "application/json", **session(token or login(api))}
    reply = api.request("POST", "/", json.dumps(low), headers)
    assert reply.status == 200, reply
    return reply.ret


@contextlib.contextmanager
def proxy_below(api, prefix):
    """Serves the program below a path without telling it, and holds event streams back. Yields the URL."""
    hold = threading.Event()

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith(f"{prefix}events"):
                hold.wait()
                return
            behind = http.client.HTTPConnection(api.host, api.port)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: value for name, value in self.headers.items() if name != "Accept-Encoding"}
            behind.request(self.command, self.path.removeprefix(prefix.rstrip("/")), body, headers)
            answer = behind.getresponse()
            text = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Proxy)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        hold.set()
        server.shutdown()
        server.server_close()


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
    visit(browser, "run")
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
