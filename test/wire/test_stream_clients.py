# SPDX-License-Identifier: MIT
"""Event streams with published clients, such as browsers, curl and Python libraries."""

import json
import subprocess

import pytest
from support.browser import pages
from support.foreign_clients import STREAM_CLIENT, require
from support.process import TIMEOUT, wait_until
from support.rest import login, running
from support.streams import hook

COUNT = 50
MODULES = ("rest_cherrypy", "rest_tornado")


@pytest.fixture(scope="module", params=MODULES)
def rest(request):
    with running(request.param) as one:
        yield one


CHERRYPY = pytest.mark.parametrize("rest", MODULES[:1], indirect=True)


def ran(client, api, path):
    argv = [require() / "bin/python", STREAM_CLIENT, client, f"http://127.0.0.1:{api.port}", path, COUNT]
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@CHERRYPY
@pytest.mark.parametrize("way_in", ["fastcgi", "http"])
def test_pepper_receives_every_event_in_order(rest, way_in):
    assert ran("pepper", rest.ways[way_in], "/events") == list(range(COUNT))


@pytest.mark.parametrize("client", ["websockets", "websocket-client", "ws4py"])
@pytest.mark.parametrize(
    ("rest", "path"),
    [("rest_cherrypy", "/ws"), ("rest_cherrypy", "/ws/{token}"), ("rest_tornado", "/all_events/{token}")],
    indirect=["rest"],
)
def test_websocket_clients_receive_every_event_in_order(rest, path, client):
    assert ran(client, rest.ways["http"], path) == list(range(COUNT))


@CHERRYPY
@pytest.mark.parametrize("way_in", ["fastcgi", "http"])
def test_curl_prints_events_at_once(rest, way_in, tmp_path):
    api = rest.ways[way_in]
    token, output = login(api), tmp_path / "output"
    url = f"http://127.0.0.1:{api.port}/events"
    with open(output, "w") as printed:
        curl = subprocess.Popen(["curl", "-sSN", "-H", f"X-Auth-Token: {token}", url], stdout=printed)
    try:
        wait_until(lambda: output.read_text() == "retry: 400\n", "the stream begins")
        for number in range(3):
            hook(api, token, number=number)
            wait_until(lambda: f'"post": {{"number": {number}}}' in output.read_text(), "it is printed at once")
        api.request("POST", "/logout", headers={"X-Auth-Token": token})
        assert curl.wait(TIMEOUT) == 0, "the stream ends in order"
    finally:
        curl.kill()
        curl.wait(TIMEOUT)
    tags = [line for line in output.read_text().splitlines() if line.startswith("tag: ")]
    assert tags == ["tag: salt/netapi/hook/test"] * 3


LOGIN = """
const post = (path, body, token) => fetch(path, { method: "POST", body: JSON.stringify(body),
  headers: { "Accept": "application/json", "Content-Type": "application/json", ...(token ? { "X-Auth-Token": token } : {}) } });
const login = async () => (await (await post("/login", { username: "saltdev", password: "x", eauth: "file" })).json()).return[0];
const fire = async () => { for (let number = 0; number < 20; ++number) await post("/hook/test", { number }); };
const numberOf = (text) => { const event = JSON.parse(text); return event.tag === "salt/netapi/hook/test" ? event.data.post.number : null; };
"""
# EventSource, the browsers' API, cannot send the header X-Auth-Token, so the cookie authenticates the stream.
EVENT_SOURCE = LOGIN + """
await login();
const source = new EventSource("/events"), heard = [], ids = new Set();
return await new Promise((resolve) => {
  source.onopen = () => fire();
  source.onmessage = (message) => {
    const number = numberOf(message.data);
    if (number !== null) { heard.push(number); ids.add(message.lastEventId); }
    if (heard.length < 20) return;
    source.onmessage = null;
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve([heard, ids.size]); };
    post("/logout", {});
  };
});
"""
WEB_SOCKET = LOGIN + """
await login();
const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws"), heard = [];
return await new Promise((resolve) => {
  socket.onopen = () => socket.send("websocket client ready");
  socket.onmessage = (message) => {
    if (message.data === "server received message") return fire();
    const number = numberOf(message.data.replace(/^data: /, ""));
    if (number !== null) heard.push(number);
    if (number === 19) post("/logout", {});
  };
  socket.onclose = (event) => resolve([heard, event.code, event.wasClean]);
});
"""


def run(browser, script):
    return browser.run(f"return (async () => {{ {script} }})()")


@pytest.mark.parametrize("way_in", ["fastcgi", "http"])
@CHERRYPY
def test_an_event_source_receives_every_event_and_ends_with_the_logout(rest, way_in, browser):
    browser.open(f"http://127.0.0.1:{rest.ways[way_in].port}/")
    assert run(browser, EVENT_SOURCE) == [list(range(20)), 20]


@CHERRYPY
def test_a_web_socket_receives_every_event_and_is_closed_by_the_logout(rest, browser):
    browser.open(f"http://127.0.0.1:{rest.ways['http'].port}/")
    assert run(browser, WEB_SOCKET) == [list(range(20)), 4401, True]


STRANGER = """
return await new Promise((resolve) => {
  const socket = new WebSocket("ws://localhost:%d/ws");
  socket.onopen = () => resolve("open");
  socket.onclose = (event) => resolve(event.code);
});
"""


def test_a_foreign_page_opens_no_web_socket_with_the_cookie(on_port, browser):
    """Browsers send the cookie with a WebSocket to another port of the same host."""
    port = on_port().port
    browser.open(f"http://localhost:{port}/")
    assert run(browser, LOGIN + "return (await login()).user") == "saltdev"
    assert run(browser, STRANGER % port) == "open"
    with pages("localhost") as stranger:
        browser.open(stranger)
        assert run(browser, STRANGER % port) == 1006
