# SPDX-License-Identifier: MIT
"""Tests that layering.py finds each kind of error, and no error in this tree."""

import pathlib

import layering
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path):
    """Yields a function that writes files and returns the errors."""

    def write(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return layering.check(tmp_path)

    return write


def include(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def test_this_tree_obeys_the_rules():
    assert layering.check(TOP) == []


GOOD = {
    "src/gateway/a.cc": include("gateway/private.h", "rest_fcgi/http/application.h", "rest_fcgi/core/log.h", "fcgiapp.h"),
    "src/client/a.cc": include("rest_fcgi/auth/credentials.h", "rest_fcgi/master/master.h", "vector", "sys/socket.h"),
    "src/master/embedded/modules/a.cc": include("master/embedded/minion.h", "rest_fcgi/auth/permissions.h"),
    "src/config/a.cc": include("rest_fcgi/auth/options.h", "rest_fcgi/yaml/yaml.h", "boost/program_options.hpp"),
    "src/yaml/a.cc": include("yaml-cpp/yaml.h", "yaml.h"),
    "src/main.cc": include("rest_fcgi/netapi/rest.h", "rest_fcgi/master/embedded/embedded.h"),
    "include/rest_fcgi/core/format.h": include("fmt/format.h"),
}


@pytest.mark.parametrize("name", GOOD)
def test_allowed_includes_pass(tree, name):
    assert tree({name: GOOD[name]}) == []


BAD = {
    "a component above": ("src/http/a.cc", "rest_fcgi/netapi/rest.h", "may not include"),
    "more of auth than credentials": ("src/client/a.cc", "rest_fcgi/auth/authenticator.h", "may not include"),
    "an engine from the interface": ("include/rest_fcgi/master/a.h", "rest_fcgi/master/embedded/embedded.h", "may not"),
    "any component from core": ("include/rest_fcgi/core/json.h", "rest_fcgi/http/application.h", "may not include"),
    "a private header": ("src/client/a.cc", "lowstate/target.h", "private"),
    "fmt": ("src/netapi/a.cc", "fmt/format.h", "belongs to component `core`"),
    "OpenSSL": ("src/master/embedded/a.cc", "openssl/evp.h", "belongs to component `auth`"),
    "yaml-cpp": ("src/auth/a.cc", "yaml-cpp/yaml.h", "belongs to component `yaml`"),
    "an unlisted library": ("src/core/a.cc", "lzma.h", "no library's that is listed"),
    "an unlisted component": ("src/util/a.cc", "vector", "no component of that name"),
    "an unlisted header of core": ("include/rest_fcgi/core/misc.h", "vector", "closed list"),
}


@pytest.mark.parametrize("what", BAD)
def test_forbidden_includes_are_named(tree, what):
    name, header, text = BAD[what]
    (problem,) = tree({name: include(header)})
    assert name in problem and text in problem


def test_a_long_file_is_named(tree):
    problems = tree({"src/http/a.cc": "\n" * 601, "include/rest_fcgi/http/a.h": "\n" * 251, "src/http/b.cc": "\n" * 600})
    assert [problem.split(":")[0] for problem in problems] == ["include/rest_fcgi/http/a.h", "src/http/a.cc"]


def test_headers_in_a_cycle_are_named(tree):
    problems = tree({"src/http/a.h": include("http/b.h"), "src/http/b.h": include("http/a.h")})
    assert problems == ["headers in a cycle: http/a.h -> http/b.h -> http/a.h"]
