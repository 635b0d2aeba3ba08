# SPDX-License-Identifier: MIT
"""Salt's REST interface with minions of the responder's own, by both ways in."""

from .api import Api
from .daemon import Daemon, merge
from .nginx import Nginx
from .process import free_port
from .salt_master import ALL, GRAINS, NODEGROUPS, SECRET, USERS

WAYS_IN = ("fastcgi", "http")


class Rest:
    """A responder that serves one module over FastCGI, with nginx before it, and on an HTTP port of its own: `ways` has an
    `Api` for each. Its minions, users and node groups are those of the masters in salt_master.py."""

    def __init__(self, home, module="rest_cherrypy", changes=None):
        home.mkdir()
        self.module, port = module, free_port()
        self.daemon = Daemon(home, merge(self._settings(module, port), changes or {}))
        try:
            self._nginx = Nginx(home / "nginx", [self.daemon.address])
        except BaseException:
            self.daemon.stop()
            raise
        self.ways = dict(zip(WAYS_IN, (self._nginx, Api("127.0.0.1", port))))

    @staticmethod
    def _settings(module, port):
        minions = {minion: {"grains": grains} for minion, grains in GRAINS.items()}
        return {
            "external_auth": {"auto": {"saltdev": ALL}, "sharedsecret": USERS},
            "sharedsecret": SECRET,
            "nodegroups": NODEGROUPS,
            module: {"port": port, "disable_ssl": True},
            "rest_fcgi": {
                "netapi": [module],
                "login_guard": {"tries": 1000},  # tests log in with wrong passwords, all from one address
                "embedded": {"minions": {"ms-2": None, **minions}},
            },
        }

    def stop(self):
        self._nginx.stop()
        assert self.daemon.stop() == 0, self.daemon.log()
