#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the sources that changed since a commit or include a changed file, one per line, for lint. Prints all sources
if a file that configures warnings changed. Usage: affected.py COMMIT."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
FOLDERS = ("include", "src", "test")
RULES = (".clang-tidy", "src/standard.h")


def changed(commit):
    """Returns the changed files, including uncommitted and removed files, relative to the top."""
    names = ["diff", "--name-only", "--no-renames", commit], ["ls-files", "--others", "--exclude-standard"]
    return {
        name
        for words in names
        for name in subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=True).stdout.split("\n")
    }


def includes(path, top):
    """Returns the files that a file includes, even if they do not exist."""
    for name in INCLUDE.findall(path.read_text(errors="replace")):
        for folder in (path.parent, top / "include", top / "src", top):
            yield (folder / name).resolve()


def affected(top, names):
    """Returns the sources of `top` that are in `names` or include a file in `names`, directly or not. The result is
    sorted."""
    files = [path for folder in FOLDERS for path in (top / folder).rglob("*") if path.suffix in (".cc", ".h")]
    if any(rule in names for rule in RULES):
        return sorted(str(path.relative_to(top)) for path in files if path.suffix == ".cc")
    included_by = {}
    for path in files:
        for included in includes(path, top):
            included_by.setdefault(included, []).append(path)
    found = {top / name for name in names if name.endswith((".cc", ".h"))}
    left = list(found)
    while left:
        news = set(included_by.get(left.pop(), [])) - found
        found |= news
        left += news
    return sorted(str(path.relative_to(top)) for path in found if path.suffix == ".cc" and path.exists())


if __name__ == "__main__":
    print("\n".join(affected(TOP, changed(sys.argv[1]))))
