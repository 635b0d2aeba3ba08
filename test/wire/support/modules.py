# SPDX-License-Identifier: MIT
"""Starts rest_fcgi with execution modules in a folder of the test."""

from .api import local

TGT = "ms-0"
PILLAR = {"port": 8080}


def with_modules(*folders, **more):
    minions = {TGT: {"grains": {"role": "web"}, "pillar": PILLAR}, "ms-1": {"grains": {"role": "db"}}}
    return {"rest_fcgi": {"embedded": {"module_dirs": [str(one) for one in folders], "minions": minions, **more}}}


def call(api, fun, *arg, tgt=TGT, **kwarg):
    return api.run(local(fun, tgt=tgt, arg=list(arg), kwarg=kwarg))[0][tgt]
