# SPDX-License-Identifier: MIT
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = [TOP / "README.md", *sorted(page for folder in ("deploy", "nginx", "apache", "src") for page in (TOP / folder).rglob("*.md"))]


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def dead_links(page):
    """Returns the links of a page that lead to no file or heading."""
    dead = []
    for path, heading in re.findall(r'\]\((?!https?:)([^)#\s"]*)#?([^)\s"]*)\)', page.read_text()):
        target = page.parent / path if path else page
        headings = re.findall("^#+ (.*)", target.read_text(), re.MULTILINE) if target.is_file() else []
        if not target.exists() or heading and heading not in map(anchor, headings):
            dead.append((path, heading))
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_of_a_page_lead_to_a_file_and_a_heading(page):
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](page.md#one-two) [b](#one-two) [c](nosuch.md) [d](page.md#three) [e](https://x/y)\n")
    assert dead_links(page) == [("nosuch.md", ""), ("page.md", "three")]


def test_the_readme_is_short():
    assert len((TOP / "README.md").read_text().splitlines()) <= 130
