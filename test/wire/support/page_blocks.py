# SPDX-License-Identifier: MIT
"""Code blocks and tables of commands in pages, with the marks that say how a test runs them.

A mark is a comment in the source of the page, directly above the block. In the manual page it is a line `.\\" run: ...`.

    <!-- run: HOST ... -->                     the lines of the block are commands for a shell on these hosts
    <!-- file: PATH HOST ... -->               the block is the text of a file
    <!-- not run: REASON -->
    <!-- table: - HOST HOST - -->              the host that runs the code in each column of the table; - runs nothing

More lines of a mark: `first: COMMAND` and `then: COMMAND` run before and after the block. `answers: TEXT, TEXT` are typed at a
terminal. `until: TEXT` ends the block when it has printed TEXT, and `meanwhile: COMMAND` runs again and again until then."""

import dataclasses
import pathlib
import re
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[3]
MANUAL = TOP / "deploy/rest_fcgi.8"
PAGES = [TOP / "README.md", *sorted((TOP / "deploy").glob("*.md")), TOP / "nginx/README.md", TOP / "apache/README.md", MANUAL]
HOSTS = {"alone", "salt"}
KEYS = {"run", "file", "not run", "table", "first", "then", "answers", "until", "meanwhile"}
COMMAND_COLUMN = re.compile(r"\| *(?:[^|]*\| *)?commands?\b")


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    mark: dict
    text: str

    def __str__(self):
        return f"{self.page.relative_to(TOP)}:{self.line}"

    @property
    def hosts(self):
        return set(re.findall(r"\S+", self.mark.get("run") or self.mark.get("table") or self.mark.get("file", " ").split(" ", 1)[1])) - {"-"}

    def commands(self):
        """Returns pairs of a command and its expected output. Without `$ ` the whole block is one command without output."""
        if not self.text.startswith("$ "):
            return [(self.text, "")]
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part).groups() for part in parts]

    def cells(self, host):
        """Returns the code in the columns of a table that `host` runs."""
        columns = self.mark["table"].split()
        for row in self.text.splitlines()[2:]:
            for column, cell in zip(columns, re.split(r"(?<!\\)\|", row)[1:-1], strict=True):
                yield from re.findall("`([^`]+)`", cell) if column == host else []


def mark_of(comment):
    return dict(re.findall(r"^\s*([a-z ]+?): *(.*?)\s*$", comment, re.MULTILINE))


def blocks_of_manual():
    text = MANUAL.read_text().replace("@prefix@", "/usr").replace("@sysconfdir@", "/etc")
    for found in re.finditer(r'((?:^\.\\" .*\n)*)^\.Bd -literal.*\n([\s\S]*?)^\.Ed', text, re.MULTILINE):
        comment = found[1].replace('.\\" ', "")
        yield Block(MANUAL, text[: found.start(2)].count("\n"), mark_of(comment), found[2].replace("\\e", "\\"))


def blocks(page):
    """Yields the blocks and tables of a page in their order."""
    if page == MANUAL:
        yield from blocks_of_manual()
        return
    lines, at, mark = page.read_text().splitlines(), 0, {}
    while at < len(lines):
        begin = at
        at += 1
        if lines[begin].strip().startswith("<!--"):
            while "-->" not in lines[at - 1]:
                at += 1
            mark = mark_of("\n".join(lines[begin:at]).replace("<!--", "").replace("-->", ""))
            continue
        if lines[begin].strip().startswith("```"):
            while not lines[at].strip().startswith("```"):
                at += 1
            at += 1
            yield Block(page, begin + 1, mark, textwrap.dedent("\n".join(lines[begin + 1 : at - 1])) + "\n")
        elif lines[begin].startswith("    "):
            while at < len(lines) and re.match("    |$", lines[at]):
                at += 1
            yield Block(page, begin + 1, mark, textwrap.dedent("\n".join(lines[begin:at])).strip() + "\n")
        elif lines[begin].startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            if "table" in mark or COMMAND_COLUMN.match(lines[begin]):
                yield Block(page, begin + 1, mark, "\n".join(lines[begin:at]))
        if lines[begin].strip():
            mark = {}


def mistake(block):
    """Returns what is wrong with the mark of a block, or None."""
    if len(block.mark.keys() & {"run", "file", "not run", "table"}) != 1:
        return "found no mark, expected <!-- run: HOST -->, <!-- file: PATH HOST --> or <!-- not run: REASON -->"
    if "not run" in block.mark:
        return None if len(block.mark["not run"].split()) > 3 else "found no reason after `not run:`"
    wrong = block.hosts - HOSTS or block.mark.keys() - KEYS
    return f"found {wrong} in the mark, expected hosts of {HOSTS} and keys of {KEYS}" if wrong or not block.hosts else None
