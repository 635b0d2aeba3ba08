# SPDX-License-Identifier: MIT
"""What the reference page deploy/modules.md says, for the tests that hold it to it."""

import ast
import fnmatch
import re

from .daemon import ROOT

PAGE = ROOT / "deploy/modules.md"


def _rows(heading):
    """The cells of the table's rows in the section with that heading."""
    _, _, section = PAGE.read_text().partition(f"\n## {heading}\n")
    section = re.split(r"\n## ", section)[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def functions():
    """Module: its functions, as the page lists them."""
    return {module.strip("` |"): sorted(re.findall(r"`(\w+)`", names)) for module, _, names in _rows("Modules")}


def of_service():
    """The functions of the installed module `service`, which is there on hosts alone that were booted with systemd."""
    tree = ast.parse((ROOT / "deploy/modules/service.py").read_text())
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return sorted(f"service.{name.rstrip('_')}" for name in names if not name.startswith("_"))


def differences():
    """What differs from a real minion on purpose: functions, `grain: NAME`, `argspec: FUNCTION`, or patterns of these."""
    return {name for cells in _rows("Differences") for name in re.findall(r"`([^`]+)`", cells[0])}


def differs(name):
    """Does it differ on purpose?"""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in differences())
