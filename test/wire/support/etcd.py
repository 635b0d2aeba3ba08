# SPDX-License-Identifier: MIT
"""Real members of an etcd cluster on loopback. `require()` skips the test without etcd."""

import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
import urllib.parse

import pytest

from .process import TIMEOUT, free_port, wait_until

ETCD = shutil.which("etcd")
ROOT = ("root", "rootpw")
USER = ("larry", "123pass")  # has permission below /salt/
AUTH = (  # requests of API v3 that set up authentication
    ("user/add", {"name": "root", "password": ROOT[1]}),
    ("role/add", {"name": "root"}),
    ("user/grant", {"user": "root", "role": "root"}),
    ("role/add", {"name": "salt"}),
    ("role/grant", {"name": "salt", "perm": {"permType": "READWRITE", "key": "L3NhbHQv", "range_end": "L3NhbHQw"}}),
    ("user/add", {"name": "larry", "password": USER[1]}),
    ("user/grant", {"user": "larry", "role": "salt"}),
    ("enable", {}),
)
SALT_V2 = {"kv": {"read": ["/salt/*"], "write": ["/salt/*"]}}
AUTH_V2 = (
    ("users/root", {"user": "root", "password": ROOT[1]}),
    ("roles/salt", {"role": "salt", "permissions": SALT_V2}),
    ("users/larry", {"user": "larry", "password": USER[1], "roles": ["salt"]}),
    ("enable", {}),
    # A client without a name would be a guest with all permissions.
    ("roles/guest", {"role": "guest", "revoke": {"kv": {"read": ["/*"], "write": ["/*"]}}}),
)


def require():
    """Skips the test without etcd, or fails it with CI=true."""
    if ETCD:
        return
    if os.environ.get("CI") == "true":
        pytest.fail("no etcd here: the package etcd-server has it", pytrace=False)
    pytest.skip("no etcd here")


def base64_text(value):
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


def prefix_end(prefix):
    return prefix[:-1] + bytes([prefix[-1] + 1])


def fsync_flags():
    """Returns the flag that turns fsync off, if etcd has it. No test cuts the power of etcd."""
    flag = "--unsafe-no-fsync"
    return [flag] if subprocess.run([ETCD, flag, "--version"], capture_output=True).returncode == 0 else []


class Certificates:
    """Paths of PEM files of an authority, a server and a client."""

    def __init__(self, directory):
        self.ca, self.server, self.client = (directory / f"{name}.pem" for name in ("ca", "server", "client"))
        signed = ["-CA", self.ca, "-CAkey", self.key(self.ca), "-addext", "basicConstraints=critical,CA:FALSE"]
        self._make(self.ca)
        # The server certificate is also a client certificate, because the gateway connects to its own server.
        names = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"
        self._make(self.server, *signed, "-addext", names, "-addext", "extendedKeyUsage=serverAuth,clientAuth")
        # With passwords, the gateway refuses certificates with a CommonName.
        self._make(self.client, *signed, "-addext", "extendedKeyUsage=clientAuth", subject="/O=client")

    @staticmethod
    def key(certificate):
        return certificate.with_suffix(".key")

    def _make(self, path, *more, subject=None):
        argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        argv += ["-days", "2", "-subj", subject or f"/CN={path.stem}", "-keyout", self.key(path), "-out", path, *more]
        subprocess.run(argv, check=True, capture_output=True)


class Member:
    def __init__(self, directory, name, tls):
        self.name = name
        self.data, self.log = directory / name, directory / f"{name}.log"
        self.port, self.peer = free_port(), free_port()
        self.plain = free_port() if tls else self.port  # port of the test itself, without TLS
        self.process = None

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def start(self, argv):
        with open(self.log, "ab") as log:
            # etcd ends with the tests, even if they are killed.
            argv = ["setpriv", "--pdeathsig", "KILL", "--", *argv]
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def end(self, number):
        if self.running:
            self.process.send_signal(number)
        self.process.wait(TIMEOUT)

    def request(self, method, path, body="", headers=None):
        """Returns status and body. Raises OSError without an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def healthy(self):
        assert self.running, f"etcd ended: {self.log.read_text(errors='replace')}"
        try:
            return self.request("GET", "/health")[0] == 200
        except OSError:
            return False

    def status(self):
        if not self.running:
            return {}
        try:
            return json.loads(self.request("POST", "/v3/maintenance/status", "{}")[1])
        except (OSError, ValueError):
            return {}


class Etcd:
    """A cluster of `members`. With `auth` it has ROOT and USER, also in an enabled API v2. It is healthy after the
    constructor."""

    def __init__(self, directory, members=1, auth=False, tls=False, client_certs=False, v2=False, arguments=()):
        directory.mkdir(parents=True, exist_ok=True)
        self.tls, self.certificates = tls, Certificates(directory) if tls else None
        self.members = [Member(directory, f"m{number}", tls) for number in range(members)]
        self._flags = fsync_flags() + ["--enable-v2"] * v2 + list(arguments)
        if tls:
            server = self.certificates.server
            self._flags += [f"--cert-file={server}", f"--key-file={Certificates.key(server)}"]
        if client_certs:
            self._flags += ["--client-cert-auth", f"--trusted-ca-file={self.certificates.ca}"]
        self._auth = False
        try:
            for number in range(members):
                self.start(number)
            for number in range(members):
                self.await_healthy(number)
            if auth and v2:
                self._set_up_auth_v2()
            if auth:
                self._set_up_auth()
        except BaseException:
            self.close()
            raise

    def close(self):
        for member in self.members:
            if member.process:
                member.end(signal.SIGKILL)

    @property
    def urls(self):
        return [f"{'https' if self.tls else 'http'}://127.0.0.1:{member.port}" for member in self.members]

    @property
    def port(self):
        return self.members[0].port

    def start(self, number):
        """Starts a member, without waiting."""
        member = self.members[number]
        peer = f"http://127.0.0.1:{member.peer}"
        client = self.urls[number] + (f",http://127.0.0.1:{member.plain}" if self.tls else "")
        cluster = ",".join(f"{each.name}=http://127.0.0.1:{each.peer}" for each in self.members)
        argv = [ETCD, f"--name={member.name}", f"--data-dir={member.data}", f"--listen-client-urls={client}"]
        argv += [f"--advertise-client-urls={self.urls[number]}", f"--listen-peer-urls={peer}"]
        argv += [f"--initial-advertise-peer-urls={peer}", f"--initial-cluster={cluster}", "--bcrypt-cost=4"]
        # Elections are short, but a busy machine causes none.
        member.start(argv + ["--heartbeat-interval=50", "--election-timeout=500", *self._flags])

    def restart(self, number):
        self.start(number)
        self.await_healthy(number)

    def await_healthy(self, number):
        wait_until(self.members[number].healthy, f"etcd's member {number} is healthy", 2 * TIMEOUT)

    def kill(self, number):
        self.members[number].end(signal.SIGKILL)

    def stop(self, number):
        self.members[number].end(signal.SIGTERM)

    def _leader_now(self):
        states = [member.status() for member in self.members]
        named = [state["leader"] for state in states if "leader" in state]
        leads = [bool(state) and state["header"]["member_id"] in named[-1:] for state in states]
        return (leads.index(True),) if any(leads) else None

    def leader(self):
        """Waits for a leader. Returns its number."""
        return wait_until(self._leader_now, "etcd has a leader", 2 * TIMEOUT)[0]

    def _answering(self):
        return next(member for member in self.members if member.running)

    def post(self, path, body, member=None):
        """Posts to the API v3, for example "kv/put", as ROOT with authentication. Returns the reply."""
        headers = {}
        if self._auth:
            token = self._post("auth/authenticate", {"name": ROOT[0], "password": ROOT[1]}, {}, member)["token"]
            headers["Authorization"] = token
        return self._post(path, body, headers, member)

    def _post(self, path, body, headers, number):
        member = self._answering() if number is None else self.members[number]
        status, reply = member.request("POST", f"/v3/{path}", json.dumps(body), headers)
        assert status == 200, (path, status, reply)
        return json.loads(reply)

    def put(self, key, value):
        self.post("kv/put", {"key": base64_text(key), "value": base64_text(value)})

    def all(self, prefix):
        """Returns a map from key to value of all keys with a prefix, as bytes."""
        prefix = prefix.encode() if isinstance(prefix, str) else prefix
        asked = {"key": base64_text(prefix), "range_end": base64_text(prefix_end(prefix))}
        found = self.post("kv/range", asked).get("kvs", [])
        return {base64.b64decode(kv["key"]): base64.b64decode(kv.get("value", "")) for kv in found}

    def v2(self, method, path, user=None, **form):
        """Sends a request to the API v2, for example ("GET", "/salt/a"). Returns status and reply."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if user:
            headers["Authorization"] = "Basic " + base64_text(":".join(user))
        url, body = f"/v2/keys{urllib.parse.quote(path, safe='/?&=')}", urllib.parse.urlencode(form)
        status, reply = self._answering().request(method, url, body, headers)
        return status, json.loads(reply)

    def _set_up_auth(self):
        for path, body in AUTH:
            self.post(f"auth/{path}", body)
        self._auth = True

    def _set_up_auth_v2(self):
        headers = {"Content-Type": "application/json"}
        for path, body in AUTH_V2:
            status, reply = self.members[0].request("PUT", f"/v2/auth/{path}", json.dumps(body), headers)
            assert status in (200, 201), (path, status, reply)
            if path == "enable":
                headers["Authorization"] = "Basic " + base64_text(":".join(ROOT))
