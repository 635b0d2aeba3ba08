# SPDX-License-Identifier: MIT
"""Error paths that no unit test takes: uncovered.py FOLDER, where what was compiled with --coverage ran. In reasons.txt stands
why, where that is known: paragraphs of `FILE: TEXT` below `# REASON`.

An error path is a statement that makes an Error or a Failure, by itself or with a function that returns one, that catches an
exception, or tells the log of an error; one that passes an error on is not looked at. It is named by its file and by text
that stands in it, so that lines may move; `*` in either stands for any text. Fails for a path that has neither test nor
reason, and for a reason whose paths are all taken now, or have gone."""

import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
REASONS = Path(__file__).parent / "reasons.txt"
MAKER = re.compile(r"\b(?:Error|Failure) (?:\w+::)*(\w+)\(")
LONGEST = 12  # lines of a statement


def makers():
    """Of each source the names of functions that make errors: its own ones, and those of headers."""
    own = {path: set(MAKER.findall(path.read_text())) for top in ("src", "include")
           for path in (TOP / top).rglob("*.*")}
    shared = {name for path, names in own.items() if path.suffix == ".h" for name in names}
    return {str(path.relative_to(TOP)): names | shared for path, names in own.items()}


def error_path(names):
    call = rf"(?:\breturn |[(?{{!]| = | : |, )(?:\w+::)*(?:{'|'.join(sorted(names))})\("
    return re.compile(rf"\b(?:Error|Failure)\{{(?!\}})|\bcatch \(|\blog::error\(|{call}")


def statement(lines, number):
    """What begins in a line, and the number of its last one."""
    text = ""
    for last, line in enumerate(lines[number - 1 : number - 1 + LONGEST], number):
        text += " " + line.partition("  // ")[0].strip()
        if text.endswith((";", ") {")):
            break
    return text.strip(), last


def is_taken(line, text):
    """A line that asks first may run without what it then does: gcov tells of a part of it that did not."""
    certain = re.match(r"return \w+[({][^?]*$|\} catch", text)
    return line["count"] > 0 and (bool(certain) or not line["unexecuted_block"])


def lines_of(data):
    """What gcov says of the sources of one object."""
    said = subprocess.run(["gcov", "--json-format", "--stdout", str(data)], stdout=subprocess.PIPE, check=True).stdout
    return [(os.path.normpath(file["file"]), file["lines"]) for file in json.loads(said)["files"]
            if os.path.normpath(file["file"]).startswith(("src/", "include/"))]


def paths_in(file, names):
    """The error paths of a source: what is stated there, and the numbers of its lines."""
    source, makes_error = (TOP / file).read_text().splitlines(), error_path(names)
    found = {number: statement(source, number) for number, line in enumerate(source, 1)
             if makes_error.search(line.partition("//")[0])}
    return [(text, range(number, last + 1)) for number, (text, last) in found.items()]


def taken_in(lines, paths):
    """(path, whether it was taken) of those that were compiled. Of a call that goes on in the next line the compiler may
    count what stands there alone."""
    compiled = {}  # a line may be there several times
    for line in lines:
        compiled.setdefault(line["line_number"], []).append(line)
    for text, numbers in paths:
        counted = next((compiled[number] for number in numbers if number in compiled), [])
        if counted:
            yield (text, numbers[0]), any(is_taken(line, text) for line in counted)


def untaken(folder):
    """(FILE, statement) of each error path that was compiled and not run, with the numbers of its lines; how many there are."""
    paths = {file: paths_in(file, names) for file, names in makers().items()}
    taken = {}  # a line may be compiled in several places
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(lines_of, sorted(Path(folder).rglob("*.gcno"))):
            for file, lines in said:
                for path, was_taken in taken_in(lines, paths[file]):
                    taken[file, *path] = taken.get((file, *path), False) or was_taken
    found = {}
    for (file, text, number), was_taken in sorted(taken.items(), key=lambda one: (one[0][0], one[0][2])):
        if not was_taken:
            found.setdefault((file, text), []).append(number)
    return found, len(taken)


def reasons():
    """The (FILE, TEXT) that have one."""
    listed = [line for line in REASONS.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(": ", 1)) for line in listed]


def is_named(path, reason):
    return fnmatch.fnmatchcase(path[0], reason[0]) and all(part in path[1] for part in reason[1].split("*"))


def main(folder):
    found, paths = untaken(folder)
    known = reasons()
    new = [path for path in found if not any(is_named(path, reason) for reason in known)]
    gone = [reason for reason in known if not any(is_named(path, reason) for path in found)]
    for path in new:
        numbers = ", ".join(map(str, found[path]))
        print(f"{path[0]}:{numbers}: neither a unit test nor a reason: {path[1]}")
    for file, text in gone:
        print(f"reasons.txt: a reason for nothing that is not taken: {file}: {text}")
    print(f"error paths: {paths}, not taken by unit tests: {sum(map(len, found.values()))}, of these without a reason: {len(new)}")
    sys.exit(bool(new or gone))


if __name__ == "__main__":
    main(sys.argv[1])
