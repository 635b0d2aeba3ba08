# SPDX-License-Identifier: MIT
"""nginx with the sites of nginx/, changed as nginx/README.md describes."""

import os
import pathlib
import re
import shutil

from .api import Api
from .daemon import ROOT
from .pki import EC, openssl
from .process import Process, free_port

NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
OVER_NGINX = ["unix", "unix_keepalive", "tcp", "tcp_keepalive", "tls", "http_tls", "prefix"]

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
    include site;
}}
"""


def certificate(directory):
    """Writes cert.pem and key.pem for localhost."""
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    openssl("req", "-x509", *EC, *names, "-days", 2, "-keyout", directory / "key.pem", "-out", directory / "cert.pem")


def replace(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def with_prefix(site):
    """Changes the site as nginx/README.md shows it for the path /api. The comment of a line is the line that it replaces. A line
    without a comment is new and stands below the line above it."""
    (recipe,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "nginx/README.md").read_text(), re.DOTALL)
    above = ""
    for line in recipe.splitlines():
        new, _, old = map(str.rstrip, line.partition("  # "))
        if old:
            site, above = replace(site, re.search(rf"^ *{re.escape(old)}\n", site, re.M)[0], f"{above}{new}\n"), ""
        else:
            above += f"{new}\n"
    return replace(site, "            proxy_pass http://rest_fcgi_http;\n", f"{above}            proxy_pass http://rest_fcgi_http;\n")


def site_text(sample, port, addresses, http_port, timeout, directory):
    """Returns a site of nginx/. `sample` names the changes of nginx/README.md that the site has."""
    site = (ROOT / "nginx" / ("rest_fcgi-http" if "http" in sample else "rest_fcgi")).read_text()
    site = replace(site, "server 127.0.0.1:8000;", f"server 127.0.0.1:{http_port or NOBODYS_PORT};")
    if "http" not in sample:
        servers = [f"server unix:{one};" if isinstance(one, str) else "server {}:{};".format(*one) for one in addresses]
        site = replace(site, "server unix:/run/rest_fcgi/rest_fcgi.sock;", "\n".join(servers))
    if "keepalive" in sample:
        for line in ("keepalive 16;", "keepalive_timeout 60s;", "fastcgi_keep_conn on;"):
            site = replace(site, f"# {line}", line)
    if "tls" in sample:
        site = replace(site, "    listen 127.0.0.1:8001;\n    server_name localhost;\n", "")
        site, count = re.subn(r"# (listen |server_name |ssl_certificate)", r"\1", site)
        assert count == 5
        site = replace(replace(site, "listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"), "listen [::]:443 ssl;", "")
        site = site.replace("/etc/ssl/certs/salt-api.pem", f"{directory}/cert.pem").replace("/etc/ssl/private/salt-api.key", f"{directory}/key.pem")
    else:
        site = replace(site, "listen 127.0.0.1:8001;", f"listen 127.0.0.1:{port};")
    if timeout:
        site = replace(site, "fastcgi_read_timeout 310s;", f"fastcgi_read_timeout {timeout}s;")
    return with_prefix(site) if sample == "prefix" else site


class Nginx(Api):
    def __init__(self, directory, addresses, sample="unix", http="", timeout=None, http_port=None):
        """Replaces fastcgi_read_timeout by `timeout` seconds. `http_port` is the HTTP port of rest_fcgi."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        tls = "tls" in sample
        if tls:
            certificate(directory)
        port = free_port()
        (directory / "site").write_text(site_text(sample, port, addresses, http_port, timeout, directory))
        user = "user root root;" if os.geteuid() == 0 else ""  # only root can read the folders of the tests
        (directory / "nginx.conf").write_text(MAIN.format(dir=directory, http=http, user=user))
        super().__init__("127.0.0.1", port, ca=directory / "cert.pem" if tls else None)
        argv = [NGINX, "-p", directory, "-c", directory / "nginx.conf"]
        self._process = Process(argv, directory / "nginx.out", ("127.0.0.1", port))

    def stop(self):
        self._process.stop()

    def error_log(self):
        return (self.directory / "error.log").read_text(errors="replace")

    def files(self):
        written = [p for p in pathlib.Path(self.directory).rglob("*") if p.is_file()]
        return [p for p in written if p.name != "site"]
