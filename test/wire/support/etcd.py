# SPDX-License-Identifier: MIT

import base64
import http.client
import json
import os
import shutil
import subprocess

import pytest

from .pki import EC, openssl
from .process import TIMEOUT, free_port, wait_until

ETCD = shutil.which("etcd")
ROOT = ("root", "rootpw")
USER = ("larry", "123pass")
AUTH = (  # these requests of API v3 turn on authentication
    ("user/add", {"name": "root", "password": ROOT[1]}),
    ("role/add", {"name": "root"}),
    ("user/grant", {"user": "root", "role": "root"}),
    ("role/add", {"name": "salt"}),
    ("role/grant", {"name": "salt", "perm": {"permType": "READWRITE", "key": "L3NhbHQv", "range_end": "L3NhbHQw"}}),
    ("user/add", {"name": "larry", "password": USER[1]}),
    ("user/grant", {"user": "larry", "role": "salt"}),
    ("enable", {}),
)


def require():
    """Skips the test if etcd is not installed. With CI=true the test fails instead."""
    if ETCD:
        return
    if os.environ.get("CI") == "true":
        pytest.fail("no etcd here: the package etcd-server has it", pytrace=False)
    pytest.skip("no etcd here")


def base64_text(value):
    return base64.b64encode(value).decode()


def fsync_flags():
    """Returns the etcd option that turns fsync off, if etcd has this option."""
    flag = "--unsafe-no-fsync"
    return [flag] if subprocess.run([ETCD, flag, "--version"], capture_output=True).returncode == 0 else []


class Certificates:
    def __init__(self, directory):
        self.ca, self.server, self.client = (directory / f"{name}.pem" for name in ("ca", "server", "client"))
        signed = ["-CA", self.ca, "-CAkey", self.key(self.ca), "-addext", "basicConstraints=critical,CA:FALSE"]
        self._make(self.ca, "/CN=ca")
        # etcd's HTTP gateway uses the server certificate as a client certificate.
        names = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"
        self._make(self.server, "/CN=server", *signed, "-addext", names, "-addext", "extendedKeyUsage=serverAuth,clientAuth")
        # The client certificate has no CommonName, because an etcd with passwords refuses a CommonName.
        self._make(self.client, "/O=client", *signed, "-addext", "extendedKeyUsage=clientAuth")

    @staticmethod
    def key(certificate):
        return certificate.with_suffix(".key")

    def _make(self, path, subject, *more):
        openssl("req", "-x509", *EC, "-days", 2, "-subj", subject, "-keyout", self.key(path), "-out", path, *more)


class Etcd:
    """An etcd with one member. With `auth` it has the users ROOT and USER."""

    def __init__(self, directory, auth=False, tls=False, v2=False):
        directory.mkdir(parents=True, exist_ok=True)
        self.port, peer = free_port(), f"http://127.0.0.1:{free_port()}"
        self._plain = free_port() if tls else self.port  # the test connects to this port without TLS
        self._log, self._data = directory / "log", directory / "data"
        urls = [f"http{'s' * tls}://127.0.0.1:{self.port}"] + [f"http://127.0.0.1:{self._plain}"] * tls
        argv = [ETCD, "--name=m", f"--data-dir={self._data}", f"--listen-client-urls={','.join(urls)}"]
        argv += [f"--advertise-client-urls={urls[0]}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        argv += [f"--initial-cluster=m={peer}", "--bcrypt-cost=4"]
        argv += ["--heartbeat-interval=50", "--election-timeout=500", *fsync_flags(), *["--enable-v2"] * v2]
        if tls:
            self.certificates = Certificates(directory)
            server = self.certificates.server
            argv += [f"--cert-file={server}", f"--key-file={Certificates.key(server)}"]
            argv += ["--client-cert-auth", f"--trusted-ca-file={self.certificates.ca}"]
        # The kernel kills etcd when the test process ends.
        self._argv = ["setpriv", "--pdeathsig", "KILL", "--", *argv]
        self.restart()
        if auth:
            self.turn_on_passwords()

    def restart(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(self._healthy, "etcd is healthy", 2 * TIMEOUT)
        except BaseException:
            self.kill()
            raise

    def kill(self):
        self._process.kill()
        self._process.wait(TIMEOUT)

    def turn_on_passwords(self):
        for path, content in AUTH:
            assert self._request("POST", f"/v3/auth/{path}", json.dumps(content))[0] == 200, path

    def set_full(self, full):
        """Raises or clears the alarm NOSPACE, with which etcd refuses writes."""
        alarm = {"action": "ACTIVATE" if full else "DEACTIVATE", "memberID": "1", "alarm": "NOSPACE"}
        assert self._request("POST", "/v3/maintenance/alarm", json.dumps(alarm))[0] == 200

    def restore(self):
        """Kills etcd and starts it with the data of its first start, as after a restore of an old backup."""
        self.kill()
        shutil.rmtree(self._data)
        self.restart()

    def _request(self, method, path, body=""):
        """Returns the status and the body. Raises OSError if etcd does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._plain, timeout=TIMEOUT)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            return reply.status, reply.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def _healthy(self):
        assert self._process.poll() is None, f"etcd ended: {self._log.read_text(errors='replace')}"
        try:
            return self._request("GET", "/health")[0] == 200
        except OSError:
            return False

    def put(self, key, value):
        pair = {"key": base64_text(key.encode()), "value": base64_text(value.encode())}
        assert self._request("POST", "/v3/kv/put", json.dumps(pair))[0] == 200

    def all(self, prefix):
        """Returns all keys with the prefix and their values as bytes. REQUIRES: no authentication."""
        first = prefix.encode()
        asked = {"key": base64_text(first), "range_end": base64_text(first[:-1] + bytes([first[-1] + 1]))}
        status, reply = self._request("POST", "/v3/kv/range", json.dumps(asked))
        assert status == 200, reply
        found = json.loads(reply).get("kvs", [])
        return {base64.b64decode(kv["key"]): base64.b64decode(kv.get("value", "")) for kv in found}
