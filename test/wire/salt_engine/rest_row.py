# SPDX-License-Identifier: MIT
"""A row of the REST table is one request that is sent to salt-api and to rest_fcgi."""

import dataclasses
import json

from support import api
from support.salt_master import SECRET

CRED = {**api.CRED, "eauth": "auto"}  # the recorded answers use `auto`
HTML, YAML, FORM, TEXT = "text/html", "application/x-yaml", "application/x-www-form-urlencoded", "text/plain"
LIMITED = {"eauth": "sharedsecret", "username": "limited", "password": SECRET}
WRONG = {"eauth": "sharedsecret", "username": "limited", "password": "wrong"}
PING = {"client": "local", "tgt": "ms-*", "fun": "test.ping"}
ECHO = {"client": "local", "tgt": "ms-0", "fun": "test.arg"}

UNKNOWN = "is not available."


@dataclasses.dataclass
class Row:
    way: str
    name: str
    method: str
    path: str
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    who: str = ""  # `who` is the user of the session. Without a session it is empty.
    main: bool = False  # A row with `main` runs against every release series in CI.
    ours: tuple = ()  # `ours` is the intended difference from Salt: the status and a part of the text.
    alike: tuple = ()  # `alike` names the release series without the intended difference.

    slow = False

    @property
    def asked(self):
        body = self.body.decode(errors="replace").replace(SECRET, "SECRET")
        about = [self.method, self.path, self.headers, self.who, body]
        return about if len(body) < 1000 else [*about[:-1], f"{body[:10]}... of {len(body)} characters"]


class Way:
    def __init__(self, way):
        self.way, self.rows = way, []

    def get(self, path, who="", name="", method="GET", accept=None, **more):
        headers = more.pop("headers", {}) | ({"Accept": accept} if accept is not None else {})
        self._add(name or self._name(method, path, who, accept), method, path, headers=headers, who=who, **more)

    def post(self, path, data=None, who="", name="", media="application/json", accept=None, **more):
        """Adds a POST request. `data` becomes JSON unless `data` is text or bytes."""
        body = data if isinstance(data, (str, bytes)) else b"" if data is None else json.dumps(data)
        headers = more.pop("headers", {}) | ({"Accept": accept} if accept is not None else {})
        if media:
            headers["Content-Type"] = media
        body = body.encode() if isinstance(body, str) else body
        self._add(name or self._name("POST", path, who, accept), "POST", path, body, headers, who, **more)

    def _add(self, name, method, path, body=b"", headers=None, who="", **more):
        self.rows.append(Row(self.way, f"{self.way}: {name}", method, path, body, headers or {}, who, **more))

    @staticmethod
    def _name(method, path, who, accept):
        words = [method, path, f"as {who}" if who else "", f"Accept {accept}" if accept is not None else ""]
        return ", ".join([" ".join(words[:2]), *filter(None, words[2:])])


def with_(low, **more):
    return {**low, **more}
