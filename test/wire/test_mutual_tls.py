# SPDX-License-Identifier: MIT
"""Mutual TLS with ssl_ca_certs, ssl_cert_reqs and ssl_allowed_cn of Salt (salt#69441)."""

import json
import shutil
import signal
import subprocess

import pytest

from support.nginx import certificate
from support.pki import Authority
from support.process import free_port, wait_until

REFUSED = 0  # curl prints this status after a failed handshake
PROXY = "/CN=proxy.example.com"


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authorities")
    return Authority(folder / "right"), Authority(folder / "wrong", "other")


@pytest.fixture
def serve(start, directory):
    """Starts a module with TLS. Returns the daemon and the port."""
    certificate(directory)

    def starter(module="rest_cherrypy", **keys):
        port = free_port()
        pair = {"ssl_crt": str(directory / "cert.pem"), "ssl_key": str(directory / "key.pem")}
        daemon = start({"rest_fcgi": {"netapi": [module]}, module: {"port": port, **pair, **keys}})
        return daemon, port

    return starter


def get(directory, port, *options):
    argv = ["curl", "-sS", "-o", directory / "reply", "-w", "%{http_code}", "--cacert", directory / "cert.pem", *options]
    done = subprocess.run([*argv, f"https://localhost:{port}/"], capture_output=True, text=True, timeout=60)
    return int(done.stdout)


def test_a_required_client_certificate_must_be_valid(serve, directory, authorities):
    right, wrong = authorities
    daemon, port = serve(ssl_cert_reqs="CERT_REQUIRED", ssl_ca_certs=str(right.certificate))
    good = right.client(PROXY)
    assert get(directory, port, *good) == 200
    assert get(directory, port, "--tls-max", "1.2", *good) == 200
    assert get(directory, port) == REFUSED
    assert get(directory, port, "--tls-max", "1.2") == REFUSED
    assert get(directory, port, *wrong.client(PROXY)) == REFUSED
    assert get(directory, port, *right.client(PROXY, days=0)) == REFUSED
    assert get(directory, port, *right.client(PROXY, usage="serverAuth")) == REFUSED
    own = ["--cert", directory / "cert.pem", "--key", directory / "key.pem"]
    assert get(directory, port, *own) == REFUSED
    assert get(directory, port, *good) == 200
    for why in ("the client sent no certificate", "certificate has expired", "unable to get local issuer certificate"):
        assert f"the client's certificate is refused: {why}" in daemon.log()


@pytest.mark.parametrize("mode", ["CERT_REQUIRED", "CERT_OPTIONAL"])
def test_the_common_name_must_be_allowed(serve, directory, authorities, mode):
    right, wrong = authorities
    allowed = ["proxy.example.com", "master.example.com"]
    daemon, port = serve(ssl_cert_reqs=mode, ssl_ca_certs=str(right.certificate), ssl_allowed_cn=allowed)
    assert get(directory, port, *right.client(PROXY)) == 200
    assert get(directory, port, *right.client("/O=people/CN=master.example.com")) == 200
    subjects = ("/CN=evil.example.com", "/CN=proxy.example", "/CN=Proxy.example.com", "/O=proxy.example.com", f"{PROXY}/CN=evil")
    for subject in subjects:
        assert get(directory, port, *right.client(subject)) == 403, subject
        assert json.loads((directory / "reply").read_text())["return"] == "Client certificate CN not allowed"
    assert get(directory, port, *wrong.client(PROXY)) == REFUSED
    assert get(directory, port) == (REFUSED if mode == "CERT_REQUIRED" else 403)
    assert 'the client is not in ssl_allowed_cn: its certificate has CN "evil.example.com"' in daemon.log().replace("'", '"')


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_resumed_tls_session_still_needs_a_certificate(serve, directory, authorities, version):
    right, _ = authorities
    _, port = serve(ssl_cert_reqs="CERT_REQUIRED", ssl_ca_certs=str(right.certificate))

    def connect(*options):
        argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", version, "-quiet", *options]
        asked = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        return subprocess.run(list(map(str, argv)), input=asked, capture_output=True, text=True, timeout=60)

    _, cert, _, key = right.client(PROXY)
    saved = directory / "session"
    first = connect("-cert", cert, "-key", key, "-sess_out", saved, "-ign_eof")
    assert "200 OK" in first.stdout
    resumed = ["-sess_in", saved] if saved.exists() else []
    assert "200 OK" not in connect(*resumed, "-ign_eof").stdout


def test_sighup_loads_new_authorities_and_keeps_the_old_ones_on_failure(serve, directory, authorities):
    right, wrong = authorities
    authority = directory / "clients.pem"
    shutil.copy(right.certificate, authority)
    daemon, port = serve(ssl_cert_reqs="CERT_REQUIRED", ssl_ca_certs=str(authority))
    old, new = right.client(PROXY), wrong.client(PROXY)
    for content in ("", "no certificate\n", None):
        authority.unlink() if content is None else authority.write_text(content)
        before = daemon.log().count("the old certificate stays in use: rest_cherrypy: ssl_ca_certs")
        daemon.kill(signal.SIGHUP)
        wait_until(lambda: daemon.log().count("old certificate stays in use: rest_cherrypy: ssl_ca_certs") > before, "the new authorities are refused")
        assert [get(directory, port, *one) for one in (old, new, [])] == [200, REFUSED, REFUSED]
    shutil.copy(wrong.certificate, authority)
    daemon.kill(signal.SIGHUP)
    wait_until(lambda: get(directory, port, *new) == 200, "the new authority counts")
    assert [get(directory, port, *one) for one in (old, [])] == [REFUSED, REFUSED]


def test_every_authority_of_a_folder_is_loaded(serve, directory, authorities):
    folder = directory / "authorities"
    folder.mkdir()
    for at, authority in enumerate(authorities):
        shutil.copy(authority.certificate, folder / f"{at}.pem")
    (folder / "README").write_text("no certificate\n")
    _, port = serve(ssl_cert_reqs="CERT_REQUIRED", ssl_ca_certs=str(folder))
    assert [get(directory, port, *one.client(PROXY)) for one in authorities] == [200, 200]
    assert get(directory, port) == REFUSED
