# SPDX-License-Identifier: MIT
"""Mistakes that must not compile. Each .cc file has the mistake under MUST_NOT_COMPILE, the correct code beside it, and
the compiler's message after `expect:`."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
COMPILER = shlex.split(os.environ.get("CXX") or "g++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{TOP / 'include'}"]


def compile_it(path, *defines):
    return subprocess.run([*COMPILER, *FLAGS, *defines, path], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.cc")))
def test_misuse_does_not_compile(name):
    path = HERE / f"{name}.cc"
    expected = re.search(r"^// expect: (.*)$", path.read_text(), re.MULTILINE).group(1)
    right = compile_it(path)
    assert right.returncode == 0, right.stderr
    wrong = compile_it(path, "-DMUST_NOT_COMPILE")
    assert wrong.returncode != 0
    assert re.search(r"error:.*(" + expected + ")", wrong.stderr), wrong.stderr
