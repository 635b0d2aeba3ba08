# SPDX-License-Identifier: MIT
"""nginx with the configurations of nginx/, as they stand; only the files of nginx/site/ are the test's own."""

import os
import pathlib
import re
import shutil
import subprocess

from .api import Api
from .daemon import ROOT
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
    """A certificate for `localhost` that signs itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
        + ["-keyout", directory / "key.pem", "-out", directory / "cert.pem"],
        check=True,
        capture_output=True,
    )


def server(address):
    return f"server unix:{address};\n" if isinstance(address, str) else f"server {address[0]}:{address[1]};\n"


def write_site(site, port, addresses, http_port, directory):
    """The files that differ from host to host."""
    (site / "http_address.conf").write_text(f"server 127.0.0.1:{http_port or NOBODYS_PORT};\n")
    for name in ("unix_address.conf", "tcp_address.conf"):
        (site / name).write_text("".join(map(server, addresses)))
    (site / "listen.conf").write_text(f"listen 127.0.0.1:{port};\n")
    (site / "listen_tls.conf").write_text(
        f"listen 127.0.0.1:{port} ssl http2;\n"
        f"ssl_certificate {directory}/cert.pem;\nssl_certificate_key {directory}/key.pem;\n"
    )


def limit_patience(path, seconds):
    text, count = re.subn(r"fastcgi_read_timeout \d+s;", f"fastcgi_read_timeout {seconds}s;", path.read_text())
    assert count == 1
    path.write_text(text)


class Nginx(Api):
    """A private nginx in front of the responders at `addresses`. Speaks HTTP to it as every `Api` does."""

    def __init__(self, directory, addresses, sample="unix.conf", http="", patience=None, http_port=None):
        """`patience` is how many seconds it waits for a responder, instead of those of the sample; `http_port` is the
        responder's own."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        tls = "tls" in sample
        if tls:
            certificate(directory)
        port = free_port()
        samples = directory / "rest_fcgi"
        shutil.copytree(ROOT / "nginx", samples)
        write_site(samples / "site", port, addresses, http_port, directory)
        if patience:
            limit_patience(samples / "location.conf", patience)
        user = "user root root;" if os.geteuid() == 0 else ""  # the tests' directories are open to root alone
        (directory / "nginx.conf").write_text(MAIN.format(dir=directory, sample=sample, http=http, user=user))
        super().__init__("127.0.0.1", port, ca=directory / "cert.pem" if tls else None)
        argv = [NGINX, "-p", directory, "-c", directory / "nginx.conf"]
        self._process = Process(argv, directory / "nginx.out", ("127.0.0.1", port))

    @property
    def pid(self):
        return self._process.pid

    def stop(self):
        self._process.stop()

    def error_log(self):
        return (self.directory / "error.log").read_text(errors="replace")

    def files(self):
        """Everything that nginx wrote, configuration aside: logs and temporary files."""
        written = [p for p in pathlib.Path(self.directory).rglob("*") if p.is_file()]
        return [p for p in written if p.parent.name not in ("rest_fcgi", "site")]
