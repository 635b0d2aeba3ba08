# SPDX-License-Identifier: MIT

import contextlib
import json
import shutil

from .api import CRED, JSON, Api
from .daemon import Daemon, merge
from .nginx import Nginx
from .process import free_port, short_directory
from .salt_master import ALL, GRAINS, NODEGROUPS, SECRET, USERS

WAYS_IN = ("fastcgi", "http")


def serving(module="rest_cherrypy", **section):
    """Returns a configuration with one module on a new port."""
    own = {"port": free_port(), "host" if module == "rest_cherrypy" else "address": "127.0.0.1", "disable_ssl": True}
    return {"rest_fcgi": {"netapi": [module]}, module: {**own, **section}}


def api_of(changes, module="rest_cherrypy"):
    return Api("127.0.0.1", changes[module]["port"])


def login(api, cred=CRED, prefix="", **more):
    reply = api.request("POST", f"{prefix}/login", json.dumps({**cred, **more}), JSON)
    assert reply.status == 200, reply
    return reply.ret[0]["token"]


def session(token):
    """Returns the headers of a session. Returns no headers if `token` is empty."""
    return {"X-Auth-Token": token} if token else {}


class Rest:
    """A running rest_fcgi with one module over FastCGI behind nginx and over HTTP. `ways` has an `Api` for each."""

    def __init__(self, home, module="rest_cherrypy", changes=None):
        home.mkdir()
        self.module, served = module, serving(module)
        self.daemon = Daemon(home, merge(merge(served, self._settings()), changes or {}))
        try:
            self._nginx = Nginx(home / "nginx", [self.daemon.address])
        except BaseException:
            self.daemon.stop()
            raise
        self.ways = dict(zip(WAYS_IN, (self._nginx, api_of(served, module))))

    @staticmethod
    def _settings():
        minions = {minion: {"grains": grains} for minion, grains in GRAINS.items()}
        return {
            "external_auth": {"auto": {"saltdev": ALL}, "sharedsecret": USERS, "file": {"nobody": []}},
            "sharedsecret": SECRET,
            "nodegroups": NODEGROUPS,
            "rest_fcgi": {
                "allow_auto_eauth": True,
                "login_guard": {"tries": 1000},  # all tests log in from one address
                "embedded": {"minions": {"ms-2": None, **minions}},
            },
        }

    def stop(self):
        self._nginx.stop()
        assert self.daemon.stop() == 0, self.daemon.log()


@contextlib.contextmanager
def running(module="rest_cherrypy", changes=None):
    home = short_directory()
    one = Rest(home / "rest", module, changes)
    try:
        yield one
    finally:
        one.stop()
    shutil.rmtree(home)
