# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over WebDriver (W3C)."""

import base64
import contextlib
import http.server
import json
import os
import shutil
import threading
import urllib.error
import urllib.request

import pytest

from .process import Process, free_port, wait_until

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium")

FLAGS = "headless disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync"
KEYS = {"TAB": "\ue004", "ENTER": "\ue007", "DOWN": "\ue015"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def require():
    if not DRIVER or not CHROMIUM:
        pytest.skip("no Chromium: install Debian's chromium and chromium-driver to have the page tested")


class Browser:
    """A browser window. `directory` must be new and holds the browser's profile."""

    def __init__(self, directory):
        port = free_port()
        directory.mkdir()
        self._process = Process([DRIVER, f"--port={port}"], directory / "chromedriver.log", ("127.0.0.1", port))
        self._url = f"http://127.0.0.1:{port}/session"
        args = [f"--{flag}" for flag in FLAGS.split()] + [f"--user-data-dir={directory / 'profile'}", "--window-size=1100,900"]
        args += ["--no-sandbox"] if os.geteuid() == 0 else []
        options = {"binary": CHROMIUM, "args": args}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "acceptInsecureCerts": True}
        try:
            self._url += "/" + self._ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._process.stop()
            raise

    def close(self):
        self._ask("DELETE", "")
        self._process.stop()

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def open(self, url):
        self._ask("POST", "/url", {"url": url})

    def _element(self, selector):
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def type(self, selector, text):
        element = self._element(selector)
        self._ask("POST", f"/element/{element}/clear", {})
        self._ask("POST", f"/element/{element}/value", {"text": text})

    def choose(self, selector, value):
        self._ask("POST", f"/element/{self._element(selector)}/value", {"text": value})

    def press(self, *keys):
        """Presses keys in the focused element. Names of KEYS are special keys, and other texts are typed."""
        typed = "".join(KEYS.get(key, key) for key in keys)
        actions = [{"type": kind, "value": key} for key in typed for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def devtools(self, command, **parameters):
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def accessibility(self):
        """Returns the role and the name of each element in the accessibility tree."""
        self.devtools("Accessibility.enable")
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def click(self, selector):
        for is_last in (False, False, True):
            try:
                return self._ask("POST", f"/element/{self._element(selector)}/click", {})
            except AssertionError as error:  # the page may draw a list again between the two requests
                if is_last or "stale element" not in str(error):
                    raise

    def run(self, script):
        """Runs a script in the page. Returns the result of the script or of its promise."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def shown(self, selector="body"):
        return self._ask("GET", f"/element/{self._element(selector)}/text")

    def await_text(self, text, selector="body"):
        def is_shown():
            with contextlib.suppress(AssertionError):  # the element may vanish when the page changes
                return text in self.shown(selector)

        wait_until(is_shown, f"the page shows {text!r}")

    def complaints(self):
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def hide(self):
        """Minimizes the window, so that the page is hidden."""
        self._ask("POST", "/window/minimize", {})

    def show(self):
        self._ask("POST", "/window/rect", {"width": 1100, "height": 900})

    def cookies(self):
        return self._ask("GET", "/cookie")

    def picture(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))


@contextlib.contextmanager
def pages(host):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>other</title>")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Page)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
