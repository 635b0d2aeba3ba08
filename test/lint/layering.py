#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rooms: who includes whom, whose library is whose, how long files are. Usage: layering.py [TOP].

A room is a folder of src/ with its seams in include/rest_fcgi/. What another room may include is in MAY_INCLUDE, and
the library that a room keeps to itself in LIBRARIES. The README's map of rooms says the same in words.
"""

import pathlib
import re
import sys

# room: rooms, or single headers of a room, whose seams it may include. All may include core.
MAY_INCLUDE = {
    "core": [],
    "http": [],
    "store": [],
    "auth": ["store", "etcd"],
    "helper": ["auth/pam_wire.h", "process/run_wire.h"],
    "etcd": [],
    "process": [],
    "returner": ["store", "etcd"],
    "yaml": [],
    "lowstate": ["auth/credentials.h", "yaml"],
    "master": ["lowstate", "auth/credentials.h"],
    "master/embedded": ["master", "lowstate", "auth", "returner", "process", "store"],
    "master/salt": ["master", "lowstate", "auth/credentials.h", "auth/logins.h", "auth/password_hash_limiter.h", "auth/permissions.h", "process", "store"],
    "master/recording": ["master", "lowstate", "returner"],
    "client": ["master", "lowstate", "auth/credentials.h"],
    "netapi": ["client", "master", "lowstate", "http", "yaml", "auth/credentials.h"],
    "gateway": ["http"],
    "config": ["*/options.h", "http/addresses.h", "yaml"],
    "engine": ["config", "store", "auth", "returner", "master", "master/embedded", "master/salt", "master/recording"],
    "main": ["*"],
}

# The folders inside a large room: the folders, or single headers, of the same room that each may include. What lies in
# the room's own folder may include all of them.
FOLDERS = {
    "returner/etcd": ["stored.h"],
    "master/embedded/python": ["text.h"],
    "master/embedded/host": ["text.h"],
    "master/embedded/target": ["host", "minion.h", "text.h"],
    "master/embedded/events": ["text.h"],
    "master/embedded/jobs": ["events", "host", "text.h"],
    "master/embedded/modules": ["python", "host", "jobs", "minion.h", "text.h"],
    "master/embedded/runners": ["python", "host", "target", "events", "jobs", "modules", "minion.h", "text.h"],
    "master/salt/packed": [],
    "master/salt/requests": ["lines.h"],
    "master/salt/events": ["lines.h", "packed"],
    "master/salt/calls": ["packed"],
    "gateway/fastcgi": ["body_budget.h", "pool.h", "reply.h", "streams", "sys.h"],
    "gateway/http": ["handed_over.h", "listener.h", "pool.h", "reply.h", "streams", "sys.h"],
    "gateway/streams": ["http/channel.h", "http/loop.h", "sys.h"],
}

# What core may hold; a further header needs three rooms that use it, and a reason.
CORE_HEADERS = {"access", "base64", "clock", "excerpt", "files", "format", "helper_process", "json", "json_document", "library", "log", "memory", "pattern", "result", "secret",
                "text", "thread", "unique_fd", "users", "version"}

# library: its headers, and the only rooms that include them.
LIBRARIES = {
    "simdjson": (r"simdjson(\.h|/.*)", "core"),
    "fmt": (r"fmt/.*", "core"),
    "PCRE2": (r"pcre2\.h", "core"),
    "libfcgi": (r"(fastcgi/)?(fcgiapp|fcgi_stdio|fcgio|fcgios|fastcgi|fcgimisc|fcgi_config)\.h", "gateway"),
    "OpenSSL": (r"openssl/.*", "auth", "gateway"),
    "libcrypt": (r"crypt\.h", "auth"),
    "PAM": (r"security/.*", "helper"),
    "zlib": (r"zlib\.h", "netapi"),
    "yaml-cpp": (r"yaml-cpp/.*", "yaml"),
    "libyaml": (r"yaml\.h", "yaml"),
    "Boost.Program_options": (r"boost/program_options.*", "config"),
    "Boost.Asio and Beast": (r"boost/(asio|beast)[./].*", "gateway"),
    "SQLite": (r"sqlite3\.h", "store"),
    "libcurl": (r"curl/.*", "etcd"),
    "ZeroMQ": (r"zmq.*|zmq/.*", "master/salt"),
    "msgpack": (r"msgpack.*|msgpack/.*", "master/salt"),
}

# The C and POSIX headers that are no library of anybody's.
SYSTEM = re.compile(
    r"[a-z_0-9]+|(sys|netinet|arpa|net|linux)/\w+\.h|gnu/libc-version\.h|cxxabi\.h|"
    r"(dirent|dlfcn|errno|fcntl|fnmatch|glob|grp|ifaddrs|limits|malloc|netdb|poll|pthread|pwd|sched|signal|spawn|stdint|stdlib|"
    r"string|strings|sysexits|syslog|termios|time|unistd|utime|utmpx|wait)\.h"
)

MAX_LINES = {".cc": 600, ".h": 250}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def room_of(folder):
    """The room that a folder below src/ or include/rest_fcgi/ belongs to: the longest name that fits."""
    parts = pathlib.PurePosixPath(folder).parts
    for size in range(len(parts), 0, -1):
        if "/".join(parts[:size]) in MAY_INCLUDE:
            return "/".join(parts[:size])
    return None


class Source:
    """One file, its room, and what it includes."""

    def __init__(self, top, path):
        self.name = str(path.relative_to(top))
        self.text = path.read_text()
        base = top / "include/rest_fcgi" if self.name.startswith("include/") else top / "src"
        self.inside = path.relative_to(base)
        self.room = "main" if self.inside.parent == pathlib.Path(".") else room_of(self.inside.parent.as_posix())
        self.includes = [quoted or angled for quoted, angled in INCLUDE.findall(self.text)]


def sources(top):
    for folder in ("include", "src"):
        for path in sorted((top / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield Source(top, path)


def allowed(room, header):
    """May `room` include the seam `header`, say `auth/credentials.h`?"""
    owner = room_of(pathlib.PurePosixPath(header).parent.as_posix())
    if owner in (room, "core"):
        return True
    for entry in MAY_INCLUDE[room]:
        if entry in ("*", owner, header) or (entry == "*/options.h" and header.endswith("/options.h")):
            return True
    return False


def allowed_inside(source, include):
    """May a file in one folder of a room include a header in another one?"""
    folder = f"{source.room}/{source.inside.parent.relative_to(source.room).as_posix()}"
    if folder not in FOLDERS or include.startswith(folder + "/"):
        return True
    return any(include == f"{source.room}/{entry}" or include.startswith(f"{source.room}/{entry}/") for entry in FOLDERS[folder])


def check_include(source, include):
    """What is wrong with one include, or None."""
    if include.startswith("rest_fcgi/"):
        header = include.removeprefix("rest_fcgi/")
        if not allowed(source.room, header):
            return f"room `{source.room}` may not include <{include}>"
        return None
    for library, (headers, *rooms) in LIBRARIES.items():
        if re.fullmatch(headers, include):
            return None if source.room in rooms else f"{library} belongs to room `{'`, `'.join(rooms)}` alone, not `{source.room}`"
    owner = room_of(pathlib.PurePosixPath(include).parent.as_posix())
    if owner:
        if owner != source.room:
            return f"<{include}> is private to room `{owner}`"
        return None if allowed_inside(source, include) else f"<{include}> is not for this folder (FOLDERS)"
    return None if SYSTEM.fullmatch(include) else f"<{include}> is no room's header and no library's that is listed"


def check_source(source):
    limit = MAX_LINES[pathlib.PurePosixPath(source.name).suffix]
    lines = source.text.count("\n")
    if lines > limit:
        yield f"{source.name}: {lines} lines, at most {limit}: which two things does it hold?"
    if source.room is None:
        yield f"{source.name}: no room of that name"
        return
    for include in source.includes:
        problem = check_include(source, include)
        if problem:
            yield f"{source.name}: {problem}"


def check_core(found):
    for source in found:
        if source.name.startswith("include/rest_fcgi/core/") and source.inside.stem not in CORE_HEADERS:
            yield f"{source.name}: core is a closed list; does this header have a room of its own?"


def check_cycles(graph, what):
    """`graph` maps a name to the names it needs. Names each cycle once."""
    state = {}

    def visit(name, path):
        if state.get(name) == "done":
            return
        if name in path:
            yield f"{what} in a cycle: {' -> '.join([*path[path.index(name):], name])}"
            return
        for needed in sorted(graph.get(name, ())):
            yield from visit(needed, [*path, name])
        state[name] = "done"

    for name in sorted(graph):
        yield from visit(name, [])


def graphs(found):
    """What the rooms, and what the headers, need of each other."""
    rooms, headers = {}, {}
    for source in found:
        if source.room is None:
            continue
        me = ("rest_fcgi/" if source.name.startswith("include/") else "") + source.inside.as_posix()
        for include in source.includes:
            headers.setdefault(me, set()).add(include)
            owner = room_of(pathlib.PurePosixPath(include.removeprefix("rest_fcgi/")).parent.as_posix())
            # `*/options.h` holds plain values; it is no use of the room.
            if owner and owner != source.room and not include.endswith("/options.h"):
                rooms.setdefault(source.room, set()).add(owner)
    return rooms, headers


def check(top):
    """All that is wrong with the tree at `top`, as lines of text."""
    found = list(sources(top))
    problems = [problem for source in found for problem in check_source(source)]
    problems += check_core(found)
    rooms, headers = graphs(found)
    return problems + [*check_cycles(rooms, "rooms"), *check_cycles(headers, "headers")]


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = check(top)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
