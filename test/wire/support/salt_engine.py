# SPDX-License-Identifier: MIT

import json

from . import fastcgi
from .api import Reply
from .daemon import Daemon, merge


class Engine(Daemon):
    """A running rest_fcgi with the master's file. Over FastCGI, each request can have a different client address."""

    def __init__(self, salt, directory, changes=None, **options):
        self.salt = salt
        directory.mkdir()
        super().__init__(directory, changes, **options)

    def configure(self, changes=None):
        self.config_path.write_text(json.dumps(merge(self.salt.config, changes or {}), indent=1))

    def send(self, text, address="127.0.0.1", timeout=120):
        data = fastcgi.request(text.encode(), REMOTE_ADDR=address)
        answer = fastcgi.talk(self.address, data, timeout)
        assert answer.ended, f"no whole answer to {text[:200]}: {self.log()[-2000:]}"
        return Reply(answer.status, {}, answer.body)

    def post(self, *chunks, **options):
        return self.send(json.dumps(chunks), **options)

    def run(self, *chunks, **options):
        """Sends chunks. Fails if the status is not 200. Returns the value of `return`."""
        reply = self.post(*chunks, **options)
        assert reply.status == 200, reply
        return reply.ret
