# SPDX-License-Identifier: MIT
"""Error paths that no unit test takes: uncovered.py GCOVR_JSON. In reasons.txt stands why, where that is known: paragraphs of
`FILE: TEXT` below `# REASON`.

An error path is a line that makes an Error or catches an exception; one that passes an error on is not looked at. It is
named by its file and its text, so that lines may move. Fails for a reason whose path is taken now, or has gone."""

import json
import re
import sys
from pathlib import Path

ERROR = re.compile(r"\breturn Error\{|\breturn \w*(failure|mistake_at|cannot_\w+)\(|\bcatch \(")
REASONS = Path(__file__).parent / "reasons.txt"


def untaken(report):
    """`FILE: TEXT` of each error path that was compiled and not run, with the numbers of its lines."""
    taken, found = {}, {}  # a line may be compiled in several places
    for file in report["files"]:
        source = Path(file["file"]).read_text().splitlines()
        for line in file["lines"]:
            text = source[line["line_number"] - 1].strip()
            if ERROR.search(text) and not line.get("gcovr/noncode"):
                path = f"{file['file'].removeprefix('src/')}: {text}"
                taken.setdefault((path, line["line_number"]), 0)
                taken[path, line["line_number"]] += line["count"]
    for (path, number), count in taken.items():
        if not count:
            found.setdefault(path, []).append(number)
    return found, len(taken)


def reasons():
    """Of each path, from paragraphs that begin with `# REASON`."""
    found, reason = {}, ""
    for line in REASONS.read_text().splitlines():
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        elif line.strip():
            found[line.strip()] = reason
    return found


def main(report):
    found, paths = untaken(json.loads(Path(report).read_text()))
    known = reasons()
    new = sorted(found.keys() - known.keys())
    gone = sorted(known.keys() - found.keys())
    for path in new:
        print(f"no test and no reason: {path} (line {', '.join(map(str, found[path]))})")
    for path in gone:
        print(f"a reason for nothing: {path}")
    print(f"error paths: {paths}, not taken by unit tests: {sum(map(len, found.values()))}, of these without a reason: {len(new)}")
    sys.exit(bool(gone))


if __name__ == "__main__":
    main(sys.argv[1])
