# SPDX-License-Identifier: MIT
"""Salt's REST interface: a module on a port of its own, sessions of it, and one that is served by both ways in."""

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
    """Changes of the configuration: that module alone, on a port of its own."""
    own = {"port": free_port(), "host" if module == "rest_cherrypy" else "address": "127.0.0.1", "disable_ssl": True}
    return {"rest_fcgi": {"netapi": [module]}, module: {**own, **section}}


def api_of(changes, module="rest_cherrypy"):
    """What answers on that port."""
    return Api("127.0.0.1", changes[module]["port"])


def login(api, cred=CRED, prefix="", **more):
    """A token."""
    reply = api.request("POST", f"{prefix}/login", json.dumps({**cred, **more}), JSON)
    assert reply.status == 200, reply
    return reply.ret[0]["token"]


def session(token):
    """The headers of requests that have it; none without."""
    return {"X-Auth-Token": token} if token else {}


class Rest:
    """A responder that serves one module over FastCGI, with nginx before it, and on an HTTP port of its own: `ways` has an
    `Api` for each. Its minions, users and node groups are those of the masters in salt_master.py."""

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
            "external_auth": {"auto": {"saltdev": ALL}, "sharedsecret": USERS, "file": {"nobody": []}},  # `auto`: recorded rows have it
            "sharedsecret": SECRET,
            "nodegroups": NODEGROUPS,
            "rest_fcgi": {
                "allow_auto_eauth": True,
                "login_guard": {"tries": 1000},  # tests log in with wrong passwords, all from one address
                "embedded": {"minions": {"ms-2": None, **minions}},
            },
        }

    def stop(self):
        self._nginx.stop()
        assert self.daemon.stop() == 0, self.daemon.log()


@contextlib.contextmanager
def running(module="rest_cherrypy", changes=None):
    """Such a responder, for a while, in a folder of its own."""
    home = short_directory()
    one = Rest(home / "rest", module, changes)
    try:
        yield one
    finally:
        one.stop()
    shutil.rmtree(home)
