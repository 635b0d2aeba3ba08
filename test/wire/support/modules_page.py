# SPDX-License-Identifier: MIT
"""The functions in the table of deploy/modules.md, and the differences in module_differences.txt."""

import ast
import fnmatch
import re
from pathlib import Path

from .daemon import ROOT

PAGE = ROOT / "deploy/modules.md"
DIFFERENCES = Path(__file__).with_name("module_differences.txt")


def functions():
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", PAGE.read_text(), re.MULTILINE)
    return {module: sorted(re.findall(r"`(\w+)`", names)) for module, names in rows}


def of_service():
    """Returns the functions of the module `service`, which exists only on hosts booted with systemd."""
    tree = ast.parse((ROOT / "deploy/modules/service.py").read_text())
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return sorted(f"service.{name.rstrip('_')}" for name in names if not name.startswith("_"))


def differences():
    lines = DIFFERENCES.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def differs(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in differences())
