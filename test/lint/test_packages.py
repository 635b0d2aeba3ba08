# SPDX-License-Identifier: MIT
import ast
import os
import pathlib
import re
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
CALLS = {"run", "Popen", "call", "check_call", "check_output", "which", "output"}
FOLDERS = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"]


def programs(text):
    """Returns the names of the programs that a Python file starts."""
    found = set(re.findall(r"^#!(?:/usr/bin/env )?(\S+)", text)[:1])
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and call.args and getattr(call.func, "attr", getattr(call.func, "id", "")) in CALLS:
            first = next(iter(getattr(call.args[0], "elts", [])), call.args[0])
            if isinstance(first, ast.Constant) and re.fullmatch(r"[a-z/][\w.+/-]*", str(first.value)):
                found.add(first.value)
    return found


def listed():
    lists = re.findall(r"^DEPS_\w+ *:= ((?:.*\\\n)*.*)", (TOP / "Makefile").read_text(), re.MULTILINE)
    return {word.removeprefix("try:") for text in lists for word in re.sub(r"#.*|\$\(.*?\)|\\\n", " ", text).split()}


def with_dependencies(packages):
    """Adds the packages of a minimal Debian, and all packages that the packages depend on."""
    form = "${Package}\t${Provides}\t${Pre-Depends},${Depends}\t${Essential}${Priority}\n"
    providers, needs, todo, found = {}, {}, list(packages), set()
    for row in subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True).stdout.splitlines():
        name, provided, needed, kind = row.split("\t")
        needs[name] = re.findall(r"(?:^|[,|]) *([\w.+-]+)", needed)
        todo += [name] if "yes" in kind or "required" in kind or name == "apt" else []
        for one in [name, *re.findall(r"(?:^|,) *([\w.+-]+)", provided)]:
            providers.setdefault(one, []).append(name)
    while todo:
        for name in providers.get(todo.pop(), []):
            todo += [] if name in found else needs[name]
            found.add(name)
    return found


def owners(program):
    path = shutil.which(program, path=":".join(FOLDERS)) or program
    names = [f"{folder}/{pathlib.Path(one).name}" for one in (path, os.path.realpath(path)) for folder in FOLDERS]
    said = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True).stdout
    return set(re.findall(r"^([\w.+-]+)(?:, |:)", said, re.MULTILINE))


def test_programs_of_tests_are_in_the_package_lists():
    known = with_dependencies(listed() | {"make", "git", "sudo"})  # the user has these three before make installs packages
    used = {program for path in (TOP / "test").rglob("*.py") for program in programs(path.read_text())}
    assert {"curl", "openssl", "dpkg-deb"} <= used and {"dpkg-dev", "libc6"} <= known
    assert {one: found for one in used if (found := owners(one)) and not found & known} == {}
