# SPDX-License-Identifier: MIT
"""deploy/SECURITY.md promises nothing without a test that is there."""

import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = (TOP / "deploy/SECURITY.md").read_text()
TABLE = PAGE.partition("| promise | tests |\n| --- | --- |\n")[2].partition("\n\n")[0].splitlines()


def missing(test):
    """Why there is no such test: FILE.py::FUNCTION, FILE.cc: NAME OF A CASE, or a file of tests."""
    name, _, case = test.partition("::") if "::" in test else test.partition(": ")
    files = [path for path in (TOP / "test").rglob(name) if path.is_file()]
    if len(files) != 1:
        return f"{len(files)} files are {name}"
    text = files[0].read_text()
    begin = rf"^def {re.escape(case)}\(" if name.endswith(".py") else rf'^TEST_CASE\(\s*"{re.escape(case)}'
    return None if re.search(begin, text, re.MULTILINE) else f"{name} has no {case}"


def test_the_page_has_promises():
    assert len(TABLE) > 30


@pytest.mark.parametrize("row", TABLE, ids=[row.split("|")[1].strip()[:40] for row in TABLE])
def test_each_promise_has_tests_that_are_there(row):
    _, promise, tests, _ = row.split("|")
    named = re.findall(r"`([^`]+)`", tests)
    assert promise.strip() and named, row
    assert [missing(test) for test in named if missing(test)] == []


def test_a_test_that_is_not_there_would_be_noticed():
    assert missing("test_nosuch.py::test_a") and missing("test_auth.py::test_nosuch") and missing("acl_test.cc: nosuch")
    assert not missing("test_layering.py::test_the_table_itself_has_no_cycle")


def test_tests_that_are_named_elsewhere_on_the_page_are_there():
    assert [missing(test) for test in re.findall(r"`(test_\w+\.py::\w+)`", PAGE) if missing(test)] == []
