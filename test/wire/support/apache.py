# SPDX-License-Identifier: MIT
"""Apache with the sites of apache/, changed as apache/README.md describes."""

import json
import os
import shutil
import signal

from .api import Api
from .daemon import BINARY, ROOT, master_config, merge
from .nginx import certificate
from .process import Process, free_port, processes_of, wait_until

APACHE = shutil.which("apache2", path=os.environ["PATH"] + ":/usr/sbin")
OVER_APACHE = ["unix", "tcp", "http", "fcgid"]
FOLDER = "/usr/lib/apache2/modules"
MODULES = "mpm_event authz_core alias headers env setenvif reqtimeout proxy proxy_fcgi proxy_http fcgid socache_shmcb ssl".split()

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
LogFormat "%h %>s %r" combined
Define APACHE_LOG_DIR {dir}
FcgidIPCDir {dir}/fcgid
FcgidProcessTableFile {dir}/fcgid_table
{sanitizers}
Include site
{more}
"""

def sanitizers():
    names = [name for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ]
    return "\n".join(f"FcgidInitialEnv {name} {os.environ[name]}" for name in names)


def main(directory, more):
    modules = "\n".join(f"LoadModule {name}_module {FOLDER}/mod_{name}.so" for name in MODULES)
    return MAIN.format(dir=directory, modules=modules, sanitizers=sanitizers(), more=more)


def let_in(directory):
    """Gives a folder to Apache's user and makes the parent folder searchable."""
    if AS_USER:
        directory.parent.chmod(0o711)
        for path in [directory, *directory.rglob("*")]:
            shutil.chown(path, USER, USER)


def activate(text, old, new):
    """Replaces a line, or the comment `# old`, by another line."""
    assert text.count(old) == 1, old
    return text.replace(f"# {old}" if f"# {old}" in text else old, new)


class Apache(Api):
    def __init__(self, directory, site, changes, tls=False, more="", mount="/"):
        """Starts Apache with a site of apache/. `changes` maps lines of the site to new lines, and `mount` is the path of the API."""
        self.directory = directory
        for name in ("fcgid", "tmp"):
            (directory / name).mkdir(parents=True)
        port = free_port()
        text = (ROOT / "apache" / site).read_text()
        changes = {**changes, "Define REST_FCGI_MOUNT /\n": f"Define REST_FCGI_MOUNT {mount}\n"}
        if tls:
            certificate(directory)
            for line in ("ServerName salt-api.example.com", "SSLEngine on", "SSLProtocol -all +TLSv1.2 +TLSv1.3"):
                changes[line] = line
            changes |= {"    ServerName localhost\n": "", "Define REST_FCGI_LISTEN 127.0.0.1:8001\nListen ${REST_FCGI_LISTEN}\n": ""}
            changes["Define REST_FCGI_LISTEN *:443"] = f"Listen 127.0.0.1:{port}\nDefine REST_FCGI_LISTEN 127.0.0.1:{port}"
            changes["SSLCertificateFile    /etc/ssl/certs/salt-api.pem"] = f"SSLCertificateFile {directory}/cert.pem"
            changes["SSLCertificateKeyFile /etc/ssl/private/salt-api.key"] = f"SSLCertificateKeyFile {directory}/key.pem"
        else:
            changes["Define REST_FCGI_LISTEN 127.0.0.1:8001"] = f"Define REST_FCGI_LISTEN 127.0.0.1:{port}"
        for old, new in changes.items():
            text = activate(text, old, new)
        (directory / "site").write_text(text)
        (directory / "apache2.conf").write_text(main(directory, more))
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
        port, address = http_port or websocket_port, daemon.address
        if http_port:
            prefix = options.get("mount", "/")
            own, backend = "http://127.0.0.1:8000/", f"http://127.0.0.1:{http_port}{prefix}"
        elif isinstance(address, str):
            prefix, own, backend = "/", "unix:/run/rest_fcgi/rest_fcgi.sock|fcgi://rest_fcgi/", f"unix:{address}|fcgi://rest_fcgi/"
        else:
            prefix, own, backend = "/", "fcgi://127.0.0.1:9001/", "fcgi://{}:{}/".format(*address)
        changes = {"Define REST_FCGI_WEBSOCKETS http://127.0.0.1:8000/": f"Define REST_FCGI_WEBSOCKETS http://127.0.0.1:{port}{prefix}"}
        changes[f"Define REST_FCGI_BACKEND {own}\n"] = f"Define REST_FCGI_BACKEND {backend}\n"
        super().__init__(directory, "rest_fcgi.conf", changes, **options)

    def log(self):
        return self.daemon.log()


class Fcgid(Apache):
    def __init__(self, directory, changes=None, lines=None, **options):
        """Configures the rest_fcgi processes with `changes`. `lines` maps lines of the site to new lines."""
        directory.mkdir()
        self.program = directory / "program"
        shutil.copy(BINARY, self.program)  # Apache's user cannot read the build folder
        self.log_path = directory / "rest_fcgi.log"
        self.config_path = directory / "master"
        own = {"rest_fcgi": {"listen": None, "log_file": str(self.log_path)}}
        self.config_path.write_text(json.dumps(master_config(directory, merge(own, changes or {})), indent=1))
        defined = {"REST_FCGI_PROGRAM /usr/bin/rest_fcgi": self.program, "REST_FCGI_CONFIG /etc/apache2/rest_fcgi/master": self.config_path}
        lines = {f"Define {old}": f"Define {old.split()[0]} {new}" for old, new in defined.items()} | (lines or {})
        super().__init__(directory, "rest_fcgi-fcgid.conf", lines, **options)

    def pids(self):
        return set(processes_of(self.program))

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self):
        super().stop()
        wait_until(lambda: not self.pids(), "the responders have ended, too")
