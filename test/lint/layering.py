#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the dependencies and libraries of the components, and the length of files. Usage: layering.py [TOP].

A component is a folder of src/ with its interface in include/rest_fcgi/. src/README.md describes the components.
"""

import pathlib
import re
import sys

# Maps a component to the components and single headers that it may include. Every component may include core.
MAY_INCLUDE = {
    "core": [],
    "http": [],
    "metrics": ["http"],
    "store": [],
    "auth": ["store", "etcd", "http/addresses.h"],
    "helper": ["auth/pam_wire.h", "process/run_wire.h"],
    "etcd": [],
    "process": [],
    "returner": ["store", "etcd"],
    "yaml": [],
    "lowstate": ["auth/credentials.h", "yaml"],
    "master": ["lowstate", "auth/credentials.h"],
    "master/embedded": ["master", "lowstate", "auth", "returner", "process", "store"],
    "master/salt": ["master", "lowstate", "auth/credentials.h", "auth/logins.h", "auth/permissions.h", "http/addresses.h", "process", "store"],
    "master/recording": ["master", "lowstate", "returner"],
    "client": ["master", "lowstate", "auth/credentials.h"],
    "netapi": ["client", "master", "lowstate", "http", "yaml", "auth/credentials.h", "auth/request_keys.h"],
    "gateway": ["http"],
    "watch": [],
    "config": ["*/options.h", "http/addresses.h", "yaml"],
    "engine": ["config", "metrics", "http", "store", "auth", "returner", "master", "master/embedded", "master/salt", "master/recording", "client", "netapi", "gateway"],
    "command": ["config", "engine", "auth", "store", "watch", "gateway", "master/embedded", "master/salt"],
    "main": ["*"],
}

# Maps a folder of a component to what the folder may include from its component. Other files may include all folders.
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
    "master/salt/requests": ["release_series.h"],
    "master/salt/events": ["release_series.h", "packed"],
    "master/salt/calls": ["packed"],
    "gateway/fastcgi": ["acceptor.h", "asio.h", "body_budget.h", "listening_socket.h", "reply.h", "shared.h", "streams", "sys.h"],
    "gateway/http": ["acceptor.h", "asio.h", "body_budget.h", "client_certificates.h", "connections.h", "listening_socket.h", "reply.h", "shared.h", "socket_activation.h", "streams", "tls.h", "transport.h"],
    "gateway/streams": ["asio.h", "sys.h", "transport.h"],
}

# The headers of core. A new header needs a reason, and at least three components that use the header.
CORE_HEADERS = {"access", "address", "base64", "clock", "excerpt", "files", "format", "helper_process", "jid", "json", "json_document", "library", "limiter", "log", "memory", "mutex", "pattern", "result", "secret", "socket_holder",
                "text", "thread", "unique_fd", "users", "version", "waiting"}

# Maps a library to its headers and to the components that may include the headers.
LIBRARIES = {
    "simdjson": (r"simdjson(\.h|/.*)", "core"),
    "fmt": (r"fmt/.*", "core"),
    "PCRE2": (r"pcre2\.h", "core"),
    "libfcgi": (r"(fastcgi/)?(fcgiapp|fcgi_stdio|fcgio|fcgios|fastcgi|fcgimisc|fcgi_config)\.h", "gateway"),
    "OpenSSL": (r"openssl/.*", "auth", "gateway"),
    "libcrypt": (r"crypt\.h", "auth"),
    "PAM": (r"security/.*", "helper"),
    "zlib": (r"zlib\.h", "netapi"),
    "libsystemd": (r"systemd/.*", "engine"),
    "yaml-cpp": (r"yaml-cpp/.*", "yaml"),
    "libyaml": (r"yaml\.h", "yaml"),
    "Boost.Program_options": (r"boost/program_options.*", "config"),
    "Boost.Asio and Beast": (r"boost/(asio|beast)[./].*|boost/version.hpp", "gateway"),
    "SQLite": (r"sqlite3\.h", "store"),
    "libcurl": (r"curl/.*", "etcd", "watch"),
    "ZeroMQ": (r"zmq.*|zmq/.*", "master/salt"),
    "msgpack": (r"msgpack.*|msgpack/.*", "master/salt"),
}

# The headers of C and POSIX, which every component may include.
SYSTEM = re.compile(
    r"[a-z_0-9]+|(sys|netinet|arpa|net|linux)/\w+\.h|gnu/libc-version\.h|cxxabi\.h|"
    r"(dirent|dlfcn|errno|fcntl|fnmatch|glob|grp|ifaddrs|limits|malloc|netdb|poll|pthread|pwd|sched|signal|spawn|stdint|stdlib|"
    r"string|strings|sysexits|syslog|termios|time|unistd|utime|utmpx|wait)\.h"
)

MAX_LINES = {".cc": 600, ".h": 250}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def component_of(folder):
    """Returns the component of a folder below src/ or include/rest_fcgi/. The longest matching name wins."""
    parts = pathlib.PurePosixPath(folder).parts
    for size in range(len(parts), 0, -1):
        if "/".join(parts[:size]) in MAY_INCLUDE:
            return "/".join(parts[:size])
    return None


class Source:
    def __init__(self, top, path):
        self.name = str(path.relative_to(top))
        self.text = path.read_text()
        base = top / "include/rest_fcgi" if self.name.startswith("include/") else top / "src"
        self.inside = path.relative_to(base)
        self.component = "main" if self.inside.parent == pathlib.Path(".") else component_of(self.inside.parent.as_posix())
        self.includes = [quoted or angled for quoted, angled in INCLUDE.findall(self.text)]


def sources(top):
    for folder in ("include", "src"):
        for path in sorted((top / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield Source(top, path)


def allowed(component, header):
    """Returns whether a component may include an interface header such as `auth/credentials.h`."""
    owner = component_of(pathlib.PurePosixPath(header).parent.as_posix())
    if owner in (component, "core"):
        return True
    for entry in MAY_INCLUDE[component]:
        if entry in ("*", owner, header) or (entry == "*/options.h" and header.endswith("/options.h")):
            return True
    return False


def allowed_inside(source, include):
    """Returns whether a file in one folder of a component may include a header in another folder."""
    folder = f"{source.component}/{source.inside.parent.relative_to(source.component).as_posix()}"
    if folder not in FOLDERS or include.startswith(folder + "/"):
        return True
    return any(include == f"{source.component}/{entry}" or include.startswith(f"{source.component}/{entry}/") for entry in FOLDERS[folder])


def check_include(source, include):
    if include.startswith("rest_fcgi/"):
        header = include.removeprefix("rest_fcgi/")
        if not allowed(source.component, header):
            return f"component `{source.component}` may not include <{include}>"
        return None
    for library, (headers, *components) in LIBRARIES.items():
        if re.fullmatch(headers, include):
            return None if source.component in components else f"{library} belongs to component `{'`, `'.join(components)}` alone, not `{source.component}`"
    owner = component_of(pathlib.PurePosixPath(include).parent.as_posix())
    if owner:
        if owner != source.component:
            return f"<{include}> is private to component `{owner}`"
        return None if allowed_inside(source, include) else f"<{include}> is not for this folder (FOLDERS)"
    return None if SYSTEM.fullmatch(include) else f"<{include}> is no component's header and no library's that is listed"


def check_source(source):
    limit = MAX_LINES[pathlib.PurePosixPath(source.name).suffix]
    lines = source.text.count("\n")
    if lines > limit:
        yield f"{source.name}: {lines} lines, at most {limit}: which two things does it hold?"
    if source.component is None:
        yield f"{source.name}: no component of that name"
        return
    for include in source.includes:
        problem = check_include(source, include)
        if problem:
            yield f"{source.name}: {problem}"


def check_core(found):
    for source in found:
        if source.name.startswith("include/rest_fcgi/core/") and source.inside.stem not in CORE_HEADERS:
            yield f"{source.name}: core is a closed list; does this header have a component of its own?"


def check_cycles(graph, what):
    """Yields each cycle of a graph once. `graph` maps a name to the names that the name needs."""
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
    components, headers = {}, {}
    for source in found:
        if source.component is None:
            continue
        me = ("rest_fcgi/" if source.name.startswith("include/") else "") + source.inside.as_posix()
        for include in source.includes:
            headers.setdefault(me, set()).add(include)
            owner = component_of(pathlib.PurePosixPath(include.removeprefix("rest_fcgi/")).parent.as_posix())
            # A header `*/options.h` has only plain values, so an include of this header is no dependency.
            if owner and owner != source.component and not include.endswith("/options.h"):
                components.setdefault(source.component, set()).add(owner)
    return components, headers


def check(top):
    """Returns all errors of the tree at `top` as lines of text."""
    found = list(sources(top))
    problems = [problem for source in found for problem in check_source(source)]
    problems += check_core(found)
    components, headers = graphs(found)
    return problems + [*check_cycles(components, "components"), *check_cycles(headers, "headers")]


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = check(top)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
