# SPDX-License-Identifier: MIT

import dataclasses
import http.client
import json
import ssl

from .process import TIMEOUT, connect

CRED = {"eauth": "file", "username": "saltdev", "password": "x"}
JSON = {"Content-Type": "application/json"}


def chunk(client, fun, **more):
    return {**CRED, "client": client, "fun": fun, **more}


def local(fun, tgt="*", **more):
    return chunk("local", fun, tgt=tgt, **more)


def without(low, *keys):
    return {key: value for key, value in low.items() if key not in keys}


@dataclasses.dataclass
class Reply:
    status: int
    headers: dict
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def ret(self):
        return self.json["return"]

    @property
    def spaced_as_python(self):
        """Returns whether the JSON text has the spaces of Python's json.dumps."""
        return self.text == json.dumps(self.json, ensure_ascii=False)


def reply_of(answer):
    names = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, names, answer.read().decode())


class Api:
    """A client of the API at one address. Each request uses a new connection."""

    def __init__(self, host, port, ca=None):
        self.host, self.port, self.ca = host, port, ca

    @property
    def url(self):
        return f"https://localhost:{self.port}" if self.ca else f"http://{self.host}:{self.port}"

    def connection(self, timeout=2 * TIMEOUT):
        if self.ca:
            context = ssl.create_default_context(cafile=str(self.ca))
            return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method="POST", path="/", body=None, headers=None, chunked=False):
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {}, encode_chunked=chunked)
            return reply_of(connection.getresponse())
        finally:
            connection.close()

    def exchange(self, data):
        """Sends raw bytes without TLS. The bytes need not be valid HTTP."""
        with connect((self.host, self.port)) as connection:
            connection.sendall(data)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return reply_of(answer)

    def post(self, *chunks, **headers):
        return self.request(body=json.dumps(chunks), headers={**JSON, **headers})

    def run(self, *chunks):
        """Posts chunks. Fails if the status is not 200. Returns the value of `return`."""
        reply = self.post(*chunks)
        assert reply.status == 200, reply
        return reply.ret
