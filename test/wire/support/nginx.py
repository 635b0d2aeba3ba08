# SPDX-License-Identifier: MIT
"""nginx with the unchanged configurations of nginx/. Tests write only the files of nginx/site/."""

import os
import pathlib
import re
import shutil

from .api import Api
from .daemon import ROOT
from .pki import EC, openssl
from .process import Process, free_port

NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
OVER_NGINX = ["unix.conf", "unix_keepalive.conf", "tcp.conf", "tcp_keepalive.conf", "tls.conf", "proxy_tls.conf", "prefix.conf"]

NOBODYS_PORT = 9

MAIN = """
{user}
daemon off;
worker_processes 2;
worker_rlimit_nofile 4096;
pid {dir}/nginx.pid;
error_log {dir}/error.log notice;
events {{ worker_connections 2048; }}
http {{
    access_log {dir}/access.log;
    client_body_temp_path {dir}/body;
    fastcgi_temp_path {dir}/fastcgi;
    proxy_temp_path {dir}/proxy;
    scgi_temp_path {dir}/scgi;
    uwsgi_temp_path {dir}/uwsgi;
    {http}
    include rest_fcgi/{sample};
}}
"""


def certificate(directory):
    """Writes cert.pem and key.pem for localhost."""
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    openssl("req", "-x509", *EC, *names, "-days", 2, "-keyout", directory / "key.pem", "-out", directory / "cert.pem")


def server(address):
    return f"server unix:{address};\n" if isinstance(address, str) else f"server {address[0]}:{address[1]};\n"


def write_site(site, port, addresses, http_port, directory):
    (site / "http_address.conf").write_text(f"server 127.0.0.1:{http_port or NOBODYS_PORT};\n")
    for name in ("unix_address.conf", "tcp_address.conf"):
        (site / name).write_text("".join(map(server, addresses)))
    (site / "listen.conf").write_text(f"listen 127.0.0.1:{port};\n")
    (site / "listen_tls.conf").write_text(
        f"listen 127.0.0.1:{port} ssl http2;\n"
        f"ssl_certificate {directory}/cert.pem;\nssl_certificate_key {directory}/key.pem;\n"
    )


def limit_timeout(path, seconds):
    text, count = re.subn(r"fastcgi_read_timeout \d+s;", f"fastcgi_read_timeout {seconds}s;", path.read_text())
    assert count == 1
    path.write_text(text)


class Nginx(Api):
    def __init__(self, directory, addresses, sample="unix.conf", http="", timeout=None, http_port=None):
        """Replaces fastcgi_read_timeout by `timeout` seconds. `http_port` is the HTTP port of rest_fcgi."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        tls = "tls" in sample
        if tls:
            certificate(directory)
        port = free_port()
        samples = directory / "rest_fcgi"
        shutil.copytree(ROOT / "nginx", samples)
        write_site(samples / "site", port, addresses, http_port, directory)
        if timeout:
            limit_timeout(samples / "location.conf", timeout)
        user = "user root root;" if os.geteuid() == 0 else ""  # only root can read the folders of the tests
        (directory / "nginx.conf").write_text(MAIN.format(dir=directory, sample=sample, http=http, user=user))
        super().__init__("127.0.0.1", port, ca=directory / "cert.pem" if tls else None)
        argv = [NGINX, "-p", directory, "-c", directory / "nginx.conf"]
        self._process = Process(argv, directory / "nginx.out", ("127.0.0.1", port))

    def stop(self):
        self._process.stop()

    def error_log(self):
        return (self.directory / "error.log").read_text(errors="replace")

    def files(self):
        written = [p for p in pathlib.Path(self.directory).rglob("*") if p.is_file()]
        return [p for p in written if p.parent.name not in ("rest_fcgi", "site")]
