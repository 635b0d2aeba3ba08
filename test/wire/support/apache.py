# SPDX-License-Identifier: MIT
"""Apache with the unchanged configurations of apache/. Tests write only the files of apache/site/."""

import json
import os
import shutil
import signal

from .api import Api
from .daemon import BINARY, ROOT, master_config, merge
from .nginx import certificate
from .process import Process, free_port, processes_of, wait_until

APACHE = shutil.which("apache2", path=os.environ["PATH"] + ":/usr/sbin")
OVER_APACHE = ["proxy_unix.conf", "proxy_tcp.conf", "proxy_http.conf", "fcgid.conf"]
FOLDER = "/usr/lib/apache2/modules"
MODULES = "mpm_event authz_core alias headers env reqtimeout proxy proxy_fcgi proxy_http fcgid socache_shmcb ssl".split()

# Apache refuses to run its workers as root. If root runs the tests, Apache runs as `USER`.
USER = "www-data"
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []

MAIN = """
ServerRoot {dir}
DefaultRuntimeDir {dir}
PidFile {dir}/apache2.pid
ErrorLog {dir}/error.log
LogLevel info
ServerName localhost
Mutex file:{dir} default
{modules}
# With too many idle threads, Apache ends a child process. If this child has already taken a connection, it closes the
# connection without an answer. The high limit prevents this.
MaxSpareThreads 400
LogFormat "%h %>s %r" plain
CustomLog {dir}/access.log plain
FcgidIPCDir {dir}/fcgid
FcgidProcessTableFile {dir}/fcgid_table
{sanitizers}
Include rest_fcgi/{sample}
{more}
"""

TLS = """
SSLEngine on
SSLProtocol -all +TLSv1.2 +TLSv1.3
SSLCertificateFile    {dir}/cert.pem
SSLCertificateKeyFile {dir}/key.pem
"""


def sanitizers():
    names = [name for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ]
    return "\n".join(f"FcgidInitialEnv {name} {os.environ[name]}" for name in names)


def main(directory, sample, more):
    modules = "\n".join(f"LoadModule {name}_module {FOLDER}/mod_{name}.so" for name in MODULES)
    return MAIN.format(dir=directory, modules=modules, sanitizers=sanitizers(), sample=sample, more=more)


def let_in(directory):
    """Gives a folder to Apache's user and makes the parent folder searchable."""
    if AS_USER:
        directory.parent.chmod(0o711)
        for path in [directory, *directory.rglob("*")]:
            shutil.chown(path, USER, USER)


class Apache(Api):
    def __init__(self, directory, sample, site, tls=False, more="", mount="/"):
        """Starts Apache. `site` maps the file names of site/ to texts, and `mount` is the path of the API."""
        self.directory = directory
        for name in ("fcgid", "tmp"):
            (directory / name).mkdir(parents=True)
        port = free_port()
        samples = directory / "rest_fcgi"
        shutil.copytree(ROOT / "apache", samples)
        (samples / "site/listen.conf").write_text(
            f"Define REST_FCGI_LISTEN 127.0.0.1:{port}\nListen ${{REST_FCGI_LISTEN}}\n"
        )
        (samples / "site/prefix.conf").write_text(f"Define REST_FCGI_MOUNT {mount}\n")
        for name, text in site.items():
            (samples / "site" / name).write_text(text)
        if tls:
            certificate(directory)
            (samples / "site/server.conf").write_text("ServerName localhost" + TLS.format(dir=directory))
        (directory / "apache2.conf").write_text(main(directory, sample, more))
        let_in(directory)
        super().__init__("127.0.0.1", port, ca=directory / "cert.pem" if tls else None)
        argv = ["env", f"TMPDIR={directory}/tmp", *AS_USER, APACHE, "-f", directory / "apache2.conf"]
        argv += ["-D", "FOREGROUND"]
        self._process = Process(argv, directory / "apache2.out", ("127.0.0.1", port))

    def stop(self):
        self._process.stop()

    def graceful(self):
        self._process.kill(signal.SIGUSR1)

    def error_log(self):
        return (self.directory / "error.log").read_text(errors="replace")

    def last_temporary_file(self):
        """Returns the time of the last change in Apache's temporary folder."""
        return (self.directory / "tmp").stat().st_mtime_ns


class Proxying(Apache):
    def __init__(self, directory, daemon, http_port=None, websocket_port=9, **options):
        self.daemon = daemon
        daemon.directory.chmod(0o711)
        if http_port:
            name, site = "http", f"Define REST_FCGI_HTTP 127.0.0.1:{http_port}\n"
        elif isinstance(daemon.address, str):
            name, site = "unix", f"Define REST_FCGI_SOCKET {daemon.address}\n"
        else:
            name, site = "tcp", "Define REST_FCGI_ADDRESS {}:{}\n".format(*daemon.address)
        http = f"Define REST_FCGI_HTTP 127.0.0.1:{http_port or websocket_port}\n"
        files = {"http_address.conf": http, f"{name}_address.conf": site}
        super().__init__(directory, f"proxy_{name}.conf", files, **options)

    def log(self):
        return self.daemon.log()


class Fcgid(Apache):
    def __init__(self, directory, changes=None, server="", **options):
        """Configures the rest_fcgi processes with `changes`. `server` is the text of site/server.conf."""
        directory.mkdir()
        self.program = directory / "program"
        shutil.copy(BINARY, self.program)  # Apache's user cannot read the build folder
        self.log_path = directory / "rest_fcgi.log"
        self.config_path = directory / "master"
        own = {"rest_fcgi": {"listen": None, "log_file": str(self.log_path)}}
        self.config_path.write_text(json.dumps(master_config(directory, merge(own, changes or {})), indent=1))
        program = f"Define REST_FCGI_PROGRAM {self.program}\nDefine REST_FCGI_CONFIG {self.config_path}\n"
        super().__init__(directory, "fcgid.conf", {"program.conf": program, "server.conf": server}, **options)

    def pids(self):
        return set(processes_of(self.program))

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self):
        super().stop()
        wait_until(lambda: not self.pids(), "the responders have ended, too")
