# SPDX-License-Identifier: MIT
"""The execution modules of deploy/modules."""

import importlib.util

from .daemon import ROOT


def loader():
    spec = importlib.util.spec_from_file_location("module_loader", ROOT / "deploy/module_loader.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOADER = loader()
CommandExecutionError = LOADER.salt_exceptions().CommandExecutionError
SaltInvocationError = LOADER.salt_exceptions().SaltInvocationError


def load(name, **dunders):
    """Loads a module with rest_fcgi's loader. Example: load("service", __salt__={"cmd.run_all": fake})."""
    path = ROOT / f"deploy/modules/{name}.py"
    return LOADER.Module(str(path), {"__context__": {}, **dunders}).module
