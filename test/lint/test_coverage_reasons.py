# SPDX-License-Identifier: MIT
"""test/coverage/reasons.txt speaks of what is there; uncovered.py finds error paths, and knows which are not taken."""

import re
import sys

import pytest
from test_security_page import TOP, missing

sys.path.insert(0, str(TOP / "test/coverage"))
import uncovered  # noqa: E402

PATHS = [(file, text) for file, names in uncovered.makers().items() for text, _ in uncovered.paths_in(file, names)]


def test_there_are_error_paths():
    assert len(PATHS) > 500


@pytest.mark.parametrize("reason", uncovered.reasons(), ids=lambda reason: ": ".join(reason)[:60])
def test_each_reason_is_for_an_error_path_that_is_there(reason):
    assert any(uncovered.is_named(path, reason) for path in PATHS)


def test_tests_that_reasons_name_are_there():
    named = re.findall(r"`([^`]+)`", "".join(line for line in uncovered.REASONS.read_text().splitlines(True) if line[0] == "#"))
    assert [missing(test) for test in named if missing(test)] == []


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ('  return Error{ErrorKind::internal, "a"};', True),
        ('  if (bad) return unusable("a");', True),
        ('  return is_good ? value : unusable("a");', True),
        ("  } catch (const std::exception&) {", True),
        ('  log::error("a");', True),
        ('Error unusable(std::string why) {', False),
        ("  Result<void> done = Error{};", False),
        ("  return value.error();", False),
        ("  // return Error{a}", False),
    ],
)
def test_what_an_error_path_is(line, is_one):
    assert bool(uncovered.error_path({"unusable"}).search(line.partition("//")[0])) == is_one


@pytest.mark.parametrize(
    ("text", "count", "unexecuted", "taken"),
    [
        ('return unusable("a");', 1, True, True),
        ('return unusable("a");', 0, True, False),
        ('if (bad) return unusable("a");', 7, True, False),
        ('if (bad) return unusable("a");', 7, False, True),
        ('return is_good ? value : unusable("a");', 7, True, False),
    ],
)
def test_a_line_that_asks_first_may_run_without_its_error(text, count, unexecuted, taken):
    assert uncovered.is_taken({"count": count, "unexecuted_block": unexecuted}, text) == taken


@pytest.mark.parametrize(
    ("counts", "taken"),
    [
        ({}, []),
        ({3: [0]}, [False]),
        ({3: [0, 1]}, [True]),  # in one of several copies
        ({3: [0], 4: [1]}, [False]),
        ({4: [0]}, [False]),  # what is counted is the line that goes on
        ({5: [1]}, [True]),
        ({6: [1]}, []),
    ],
)
def test_a_path_is_counted_where_its_statement_has_code(counts, taken):
    lines = [{"line_number": number, "count": count, "unexecuted_block": count == 0}
             for number, several in counts.items() for count in several]
    found = list(uncovered.taken_in(lines, [("return unusable(a, b);", range(3, 6))]))
    assert found == [(("return unusable(a, b);", 3), was_taken) for was_taken in taken]


def test_a_path_without_a_reason_and_a_reason_without_a_path_fail(monkeypatch, capsys):
    monkeypatch.setattr(uncovered, "untaken", lambda _: ({("src/a/b.cc", "return Error{a};"): [3, 5]}, 9))
    for reasons, said in (
        ([], "src/a/b.cc:3, 5: neither a unit test nor a reason: return Error{a};"),
        ([("src/a/b.cc", "Error{a"), ("src/c.cc", "Error")], "a reason for nothing that is not taken: src/c.cc: Error"),
    ):
        monkeypatch.setattr(uncovered, "reasons", lambda listed=reasons: listed)
        with pytest.raises(SystemExit) as ended:
            uncovered.main("folder")
        assert ended.value.code == 1 and said in capsys.readouterr().out
    monkeypatch.setattr(uncovered, "reasons", lambda: [("src/*/b.cc", "return*{a}")])
    with pytest.raises(SystemExit) as ended:
        uncovered.main("folder")
    assert ended.value.code == 0
