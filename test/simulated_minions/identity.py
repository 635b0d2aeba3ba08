# SPDX-License-Identifier: MIT
"""The identity of the simulated minions: a common key pair, and the keys from the login of each minion."""

import time
import uuid

import salt.crypt
import salt.payload
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from salt.utils.rsax931 import RSAX931Signer

VERSION = 3  # protocol version of minions; supported masters accept no other version
ALGORITHMS = {"enc_algo": "OAEP-SHA1", "sig_algo": "PKCS1v15-SHA1"}  # all release series know these algorithms


class Refused(Exception):
    """The master refuses a minion."""


class Identity:
    """An RSA key pair and the AES keys from the master. One AES key is for publications, and each minion has a key for
    its messages."""

    def __init__(self):
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = serialization.Encoding.PEM
        public = self._key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
        private = self._key.private_bytes(
            pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        self.public_key = public.decode().strip()
        self._token = RSAX931Signer(private).sign(b"salt")
        self._published = None
        self._sessions = {}

    def login(self, minion):
        """Returns the message that asks the master for keys."""
        load = {"cmd": "_auth", "id": minion, "nonce": uuid.uuid4().hex, "pub": self.public_key, **ALGORITHMS}
        return salt.payload.dumps({"enc": "clear", "load": load, "version": VERSION})

    def logged_in(self, minion, reply):
        """Reads the keys from the master's reply. Raises Refused."""
        reply = salt.payload.loads(reply)
        load = salt.payload.loads(reply["load"]) if isinstance(reply, dict) and "load" in reply else {}
        if load.get("enc") != "pub":
            raise Refused(f"{minion}: {load or reply}")
        self._sessions[minion] = salt.crypt.Crypticle({}, self._decrypt(load["session"]))
        self._published = salt.crypt.Crypticle({}, self._decrypt(load["aes"]))

    def job(self, payload):
        return self._published.loads(salt.payload.loads(payload)["load"])

    def seal(self, minion, load):
        load = {"id": minion, **load, "nonce": uuid.uuid4().hex, "ts": int(time.time()), "tok": self._token}
        sealed = self._sessions[minion].dumps(load)
        return salt.payload.dumps({"enc": "aes", "load": sealed, "version": VERSION, "id": minion, **ALGORITHMS})

    def _decrypt(self, secret):
        digest = hashes.SHA1()
        return self._key.decrypt(secret, padding.OAEP(padding.MGF1(digest), digest, None)).decode()
