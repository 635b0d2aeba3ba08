# SPDX-License-Identifier: MIT
"""The client address behind a web server on the same host."""

import json

from support import apache as apaches
from support.api import CRED, JSON, Api
from support.process import free_port
from support.rest import api_of, serving

ALLOWED, REFUSED = "192.0.2.{}", "198.51.100.1"  # api_acl allows the first address and refuses the second
CLIENT = "X-Test-Client"  # this header tells the web server the client address

NGINX_CLIENTS = f"set_real_ip_from 127.0.0.0/8; real_ip_header {CLIENT};"
NGINX_SERVER = "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{to}; }} }}"

APACHE_CLIENTS = f"""
LoadModule remoteip_module {apaches.FOLDER}/mod_remoteip.so
RemoteIPHeader {CLIENT}
RemoteIPInternalProxy 127.0.0.0/8
"""


def guarded(**own):
    """Returns settings for rest_cherrypy on a loopback port. The guard refuses after three wrong passwords."""
    changes = serving(api_acl={"users": {"*": [ALLOWED.format("0/24"), "127.0.0.1"]}})
    changes["rest_fcgi"] |= {"login_guard": {"tries": 3}, **own}
    return changes


def port_of(changes):
    return changes["rest_cherrypy"]["port"]


def login(api, client=None, password=CRED["password"], **headers):
    named = {CLIENT: client} if client else {}
    body = json.dumps({**CRED, "password": password})
    return api.request("POST", "/login", body, {**JSON, **named, **headers}).status


def each_client_counts_by_itself(daemon, api):
    claimed = {"X-Forwarded-For": "192.0.2.9", "X-Real-IP": "192.0.2.9"}
    guesser, other = ALLOWED.format(1), ALLOWED.format(2)
    assert [login(api, guesser, "wrong", **claimed) for _ in range(4)] == [401, 401, 401, 429]
    assert login(api, guesser, **claimed) == 429
    assert login(api, other, **claimed) == 200
    assert login(api, REFUSED, **claimed) == 401
    daemon.await_log(f'login guard: user "saltdev" at "{guesser}": refused')
    for address, outcome in ((guesser, "throttled"), (other, "ok"), (REFUSED, "")):
        daemon.await_log(f"user=saltdev eauth=file remote_addr={address} client=- fun=login tgt=- jid=- outcome={outcome}")
    assert "remote_addr=127.0.0.1" not in daemon.log()


def test_the_login_guard_tells_clients_behind_the_nginx_sample_apart(start, front):
    changes = guarded()
    daemon = start(changes)
    nginx = front(daemon, sample="http_tls", http_port=port_of(changes), http=NGINX_CLIENTS)
    each_client_counts_by_itself(daemon, nginx)


def test_the_login_guard_tells_clients_behind_the_apache_sample_apart(directory, start, keep):
    changes = guarded()
    if apaches.AS_USER:
        changes["rest_fcgi"]["socket_group"] = apaches.USER
    port = port_of(changes)
    apache = keep(apaches.Proxying(directory / "apache", start(changes), port, port, more=APACHE_CLIENTS))
    each_client_counts_by_itself(apache.daemon, apache)


def test_the_log_explains_a_lockout_of_all_clients_of_a_proxy(start, front):
    changes = guarded()
    daemon, port = start(changes), free_port()
    front(daemon, http=NGINX_CLIENTS + NGINX_SERVER.format(port=port, to=port_of(changes)))
    nginx = Api("127.0.0.1", port)
    assert [login(nginx, ALLOWED.format(n), "wrong") for n in range(3)] == [401, 401, 401]
    assert login(nginx, ALLOWED.format(4)) == 429
    daemon.await_log("in nginx: proxy_set_header X-Forwarded-For $remote_addr;")


def test_an_untrusted_proxy_is_one_warning(start):
    changes = guarded(trusted_proxies=["10.0.0.1"])
    daemon = start(changes)
    for header in ("X-Forwarded-For", "X-Real-IP", "X-Forwarded-For"):
        assert login(api_of(changes), **{header: ALLOWED.format(1)}) == 200
    assert ALLOWED.format(1) not in daemon.log()
    assert [line.split()[1] for line in daemon.log().splitlines() if "trusted_proxies" in line] == ["warning"]


APACHE_PLAIN = "Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\nProxyPass / http://127.0.0.1:{to}/\n</VirtualHost>\n"


def test_a_page_behind_the_plain_proxy_pass_of_apache_may_use_its_cookie(directory, start, keep):
    changes, port = guarded(), free_port()
    if apaches.AS_USER:
        changes["rest_fcgi"]["socket_group"] = apaches.USER
    to = port_of(changes)
    more = APACHE_PLAIN.format(port=port, to=to)
    keep(apaches.Proxying(directory / "apache", start(changes), to, to, more=more))
    api = Api("127.0.0.1", port)
    cookie = api.request("POST", "/login", json.dumps(CRED), JSON).headers["set-cookie"].split(";")[0]

    def from_page(api, origin, **headers):
        reply = api.request("GET", "/minions", headers={"Cookie": cookie, "Origin": origin, **headers})
        return reply.status, reply.text

    assert from_page(api, f"http://127.0.0.1:{port}")[0] == 200
    status, text = from_page(api, "http://evil.example")
    assert status == 403 and "ProxyPreserveHost On" in text and "proxy_set_header Host" in text
    untrusted = serving()
    untrusted["rest_fcgi"]["trusted_proxies"] = []
    start(untrusted)
    direct = api_of(untrusted)
    cookie = direct.request("POST", "/login", json.dumps(CRED), JSON).headers["set-cookie"].split(";")[0]
    forwarded = {"X-Forwarded-Host": "www.example.org", "X-Forwarded-For": "192.0.2.1"}
    assert from_page(direct, "http://www.example.org", **forwarded)[0] == 403
