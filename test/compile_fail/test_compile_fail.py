# SPDX-License-Identifier: MIT
"""Mistakes that must not compile."""

import dataclasses
import os
import pathlib
import re
import shlex
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
COMPILER = shlex.split(os.environ.get("CXX") or "g++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{TOP / 'include'}", "-x", "c++", "-"]
USING = "using namespace rest_fcgi;"


@dataclasses.dataclass
class Misuse:
    name: str
    header: str
    function: str  # declaration of a function
    wrong: str  # body with the mistake
    right: str  # body without the mistake
    error: str  # pattern of the compiler's message


MISUSES = [
    Misuse("only the authenticator makes an identity", "auth/credentials.h", "auth::Identity f(const auth::Identity& proven)",
           'return auth::Identity("root", "pam", {});', "return proven;", "private"),
    Misuse("text becomes JSON only through a writer or through trusted", "core/json.h", "Json f(const std::string& text)",
           "return Json(text);", "return Json::trusted(text);", "private|convert"),
    Misuse("only a master permits a chunk", "master/master.h",
           "master::Permit f(const lowstate::Chunk& chunk, const master::Permit& given)",
           'return master::Permit(chunk, "root", "pam", given.deadline(), nullptr);', "return static_cast<void>(chunk), given;",
           "private|protected"),
    Misuse("a result cannot be ignored", "core/result.h", "void f(Result<int> (*call)())",
           "call();", "static_cast<void>(call().ok());", "nodiscard|unused"),
    Misuse("secrets are compared in constant time", "core/secret.h", "bool f(SecretView a, SecretView b)",
           "return a == b;", "return equal_in_constant_time(a.reveal(), b.reveal());", "operator==|invalid operands"),
    Misuse("only copy copies a secret", "core/secret.h", "Secret f(const Secret& secret)",
           "return secret;", "return secret.copy();", "deleted"),
    Misuse("a secret is not formatted", "core/format.h", "std::string f(SecretView secret)",
           'return format("{}", secret);', 'return format("{}", secret.size());', "[Cc]annot format|not formattable|deleted|static.assert"),
    Misuse("a secret is not logged", "core/log.h", "void f(const Secret& secret)",
           "log::error(secret);", 'log::error(secret.empty() ? "empty" : "set");', "convert|no matching|no viable conversion"),
    Misuse("a secret is not printed", "core/secret.h", "void f(const Secret& secret)",
           "std::cout << secret;", "std::cout << secret.empty();", r"operator<<|invalid operands"),
    Misuse("a view of a secret is not printed", "core/secret.h", "void f(SecretView secret)",
           "std::cout << secret;", "std::cout << secret.size();", r"operator<<|invalid operands"),
]  # fmt: skip


def compiled(misuses, body):
    headers = sorted({f"#include <rest_fcgi/{one.header}>" for one in misuses})
    functions = [f"namespace n{at} {{ {USING} {one.function} {{ {body(one)} }} }}" for at, one in enumerate(misuses)]
    text = "\n".join(["#include <iostream>", "#include <string>", "#include <rest_fcgi/core/secret.h>", *headers, *functions, ""])
    return subprocess.run([*COMPILER, *FLAGS], input=text, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


def test_correct_use_compiles():
    done = compiled(MISUSES, lambda one: one.right)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.name)
def test_misuse_does_not_compile(misuse):
    done = compiled([misuse], lambda one: one.wrong)
    assert done.returncode != 0 and re.search(f"error:.*({misuse.error})", done.stderr), done.stderr
