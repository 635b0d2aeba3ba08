# SPDX-License-Identifier: MIT
"""Execution functions, compared with a real minion on the same host.

support/module_differences.txt lists intended differences."""

import fnmatch
import os
import pathlib
import shutil
import tempfile
import time

import pytest

from support import modules_page, salt_minion, salts
from support.api import local
from support.daemon import Daemon
from support.nginx import Nginx
from support.salt_minion import first_line_if_text

MINION = "ms-0"
PILLAR = {
    "pkg": {"apache": "httpd", "deep": {"n": [10, 20], "who": ["a"]}},
    "list": ["a", {"b": 1}, "c"],
    "num": 5,
    "master": {"status.own": ["x"], "only_here": {"a": 1}},
    "schedule": {"job": {"seconds": 5}},
}

VALUE = "value"
SHAPE = "shape"  # types and keys are equal, because the values change with time
COMMON = "common"


class Case:
    def __init__(self, fun, *args, how=VALUE, **kwargs):
        self.fun, self.args, self.kwargs, self.how = fun, list(args), kwargs, how

    def __repr__(self):
        shown = [repr(arg) for arg in self.args] + [f"{key}={value!r}" for key, value in self.kwargs.items()]
        return f"{self.fun}({', '.join(shown)})"


def cases_of_test():
    for fun in ("ping", "true", "false"):
        yield Case(f"test.{fun}")
    yield Case("test.echo", "grün ☃")
    # Functions with **kwargs also get keywords about the job. Salt and rest_fcgi give different keywords of this kind, so only the
    # common keys are compared.
    for fun in ("arg", "arg_repr", "arg_type"):
        yield Case(f"test.{fun}", 1, "two", None, 3.5, [1], txt="hello", how=COMMON)
    yield Case("test.kwarg", txt="hello", how=COMMON)
    yield Case("test.arg_clean", 1, "two", txt="hello")
    for fun in ("retcode", "sleep", "rand_sleep"):
        yield Case(f"test.{fun}", 0)
    yield Case("test.fib", 30, how=SHAPE)
    yield Case("test.assertion", False)
    yield Case("test.exception", "boom")
    yield Case("test.raise_exception", "salt.exceptions.CommandExecutionError", "boom")
    for fun in ("list_functions", "list_modules"):
        yield Case(f"sys.{fun}", how=SHAPE)
    yield Case("sys.doc", "test.ping", how=SHAPE)
    yield Case("sys.argspec", "test.sleep")


def cases_of_grains():
    for fun in ("get", "fetch"):
        yield Case(f"grains.{fun}", "os")
        yield Case(f"grains.{fun}", "ip4_interfaces:lo:0")
        yield Case(f"grains.{fun}", "nosuch", "default")
    yield Case("grains.item", "os", "nosuch", "ip4_interfaces:lo")
    yield Case("grains.items", how=COMMON)
    yield Case("grains.ls", how=SHAPE)
    yield Case("grains.has_value", "os")
    yield Case("grains.equals", "os_family", "Debian")
    table = {"Deb*": {"a": {"b": 1}}, "x": "y", "base": {"a": {"c": 2}, "d": 3}, "default": 7}
    yield Case("grains.filter_by", {"Debian": 1, "default": 2})
    yield Case("grains.filter_by", table, merge={"a": {"b": 9}, "e": [1]}, base="base")
    yield Case("grains.filter_by", table, "nosuch", default="x", base="base")
    yield Case("grains.filter_by", table, "nosuch", {"m": 1}, "none", "base")
    yield Case("grains.filter_by", {"lo": "here"}, "ip_interfaces")
    yield Case("grains.filter_by", table, "nosuch", merge={"m": 1})


def cases_of_pillar():
    for fun in ("get", "fetch"):
        yield Case(f"pillar.{fun}", "pkg:apache")
        yield Case(f"pillar.{fun}", "nosuch", {"a": 1})
        yield Case(f"pillar.{fun}", "pkg", {"apache": "x", "own": {"a": 1}}, merge=True)
        yield Case(f"pillar.{fun}", "pkg", {"deep": {"who": ["b", "a"]}}, merge=True, merge_nested_lists=True)
    for fun in ("items", "data"):
        yield Case(f"pillar.{fun}")
        yield Case(f"pillar.{fun}", "num", "nosuch")
    yield Case("pillar.item", "pkg:deep:n:1", "nosuch", "num")
    yield Case("pillar.keys", "pkg")
    yield Case("pillar.obfuscate")
    yield Case("pillar.obfuscate", "pkg", "nosuch")
    for fun in ("ls", "raw"):
        yield Case(f"pillar.{fun}")


def cases_of_config():
    yield Case("config.get", "pkg:apache")
    yield Case("config.get", "only_here:a")
    yield Case("config.get", "nosuch", 5)
    yield Case("config.get", "pkg:deep", merge="recurse")
    yield Case("config.get", "pkg", omit_pillar=True)
    for value in ("os", "num", "only_here", "redis.host", "nosuch", "hash_type", "__role", "file_client"):
        yield Case("config.option", value)
    yield Case("config.option", "os", omit_all=True)
    yield Case("config.option", "mongo.*", wildcard=True)
    for value in ("pkg", "list", "num", "hash_type", "only_here", "redis.port", "nosuch"):
        yield Case("config.merge", value)
    yield Case("config.merge", "nosuch", {"a": 1})
    for mode in (644, "0644", "0o1755", "'00755'", None, "keep"):
        yield Case("config.manage_mode", mode)
    for uri in ("salt://x", "https://x/y", "/path", "file:///x", "gopher://x"):
        yield Case("config.valid_fileproto", uri)
    yield Case("config.backup_mode")
    yield Case("config.dot_vals", "status")


def cases_of_environ():
    yield Case("environ.get", "NO_SUCH_VARIABLE", "default")
    yield Case("environ.has_value", "PATH")
    yield Case("environ.has_value", "PATH", "nowhere")
    yield Case("environ.item", ["NO_SUCH_VARIABLE", "OTHER"], None)
    yield Case("environ.item", 5)
    yield Case("environ.items", how=COMMON)


def cases_of_users():
    for name in ("root", "daemon", "nosuch"):
        for fun in ("user.info", "user.list_groups", "group.info"):
            yield Case(fun, name)
    yield Case("user.primary_group", "root")
    for fun in ("user.list_users", "user.getent", "group.getent"):
        yield Case(fun)


def cases_of_status():
    for fun in ("cpuinfo", "cpustats", "diskstats", "loadavg", "meminfo", "netdev", "uptime", "vmstats"):
        yield Case(f"status.{fun}", how=SHAPE)
    if os.geteuid() == 0:  # a real minion stops at the first mount without permission
        yield Case("status.diskusage", how=SHAPE)
        yield Case("status.all_status", how=COMMON)
    yield Case("status.diskusage", "/", how=SHAPE)
    yield Case("status.nproc")
    yield Case("status.version")
    yield Case("status.procs", how=COMMON)
    yield Case("status.pid", "no process has such a command li[n]e")
    yield Case("status.pid", "[n]ginx", how=SHAPE)
    yield Case("status.time", "%Y-%m-%d")


def cases_of_disk():
    for fun in ("usage", "inodeusage", "percent"):
        yield Case(f"disk.{fun}", how=SHAPE)
    yield Case("disk.percent", "/", how=SHAPE)
    yield Case("disk.percent", "/nosuch")


def cases_of_network():
    for fun in ("interfaces", "routes", "default_route", "arp", "get_hostname", "subnets", "subnets6"):
        yield Case(f"network.{fun}")
    yield Case("network.active_tcp", how=COMMON)
    for family in ("inet", "inet6", "ipx"):
        yield Case("network.routes", family)
        yield Case("network.default_route", family)
    for fun in ("ip_addrs", "ipaddrs", "ip_addrs6", "ipaddrs6"):
        yield Case(f"network.{fun}")
        yield Case(f"network.{fun}", "lo", True)
        yield Case(f"network.{fun}", include_loopback=True, cidr="127.0.0.0/8")
        yield Case(f"network.{fun}", cidr="nonsense")
    yield Case("network.ip_addrs", type="private")
    for fun in ("interface", "interface_ip", "hw_addr", "hwaddr"):
        yield Case(f"network.{fun}", "lo")
        yield Case(f"network.{fun}", "nosuch")
    yield Case("network.in_subnet", "127.0.0.0/8")
    yield Case("network.in_subnet", "10.0.0.1/8")
    yield Case("network.ip_in_subnet", ["1.2.3.4", "172.17.0.4"], "172.16.0.0/255.240.0.0")
    yield Case("network.ip_in_subnet", "nonsense", "172.16.0.0/12")
    for address in ("127.0.0.1", "10.1.2.3", "8.8.8.8", "::1", "fe80::1", "2600::1", "::ffff:1.2.3.4", "nonsense"):
        for fun in ("is_loopback", "is_private", "reverse_ip"):
            yield Case(f"network.{fun}", address)


def cases_of_cmd():
    for fun in ("run", "run_stdout", "run_stderr", "retcode", "shell"):
        yield Case(f"cmd.{fun}", "printf 'a b\\n'")
        yield Case(f"cmd.{fun}", "echo out; echo err >&2; exit 3", python_shell=True)
    yield Case("cmd.run", "env", clean_env=True, env=[{"ONE": "1"}, {"TWO": 2}], how=SHAPE)
    yield Case("cmd.run", "cat", stdin="given")
    yield Case("cmd.run_all", "exit 7", python_shell=True, how=SHAPE)
    yield Case("cmd.exec_code", "sh", "echo $((6 * 7))")
    yield Case("cmd.exec_code_all", "sh", "echo $((6 * 7)); exit 3", how=SHAPE)
    for name in ("sh", "no_such_program"):
        yield Case("cmd.has_exec", name)
        yield Case("cmd.which", name)
        yield Case("cmd.which_bin", ["no_such_program", name])


def cases_of_file(folder):
    """Creates files of several types. Yields cases about these files."""
    (folder / "text").write_text("# one\ntwo\n  three with grün\n")
    (folder / "link").symlink_to("text")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "fifo")
    os.link(folder / "text", folder / "other")
    os.chmod(folder / "text", 0o4640)
    # The access time is in the future. Reading the file does not change such a time if the mount option is relatime.
    os.utime(folder / "text", (time.time() + 3600, time.time() - 60))
    paths = [str(folder / name) for name in ("text", "link", "dangling", "sub", "fifo", "nosuch")] + ["/dev/null"]
    for path in paths:
        for fun in ("file_exists", "directory_exists", "is_link"):
            yield Case(f"file.{fun}", path)
        for fun in ("get_user", "get_group", "get_mode", "path_exists_glob"):
            yield Case(f"file.{fun}", path)
        yield Case("file.get_mode", path, follow_symlinks=False)
        yield Case("file.access", path, "r")
    for path in [path for path in paths if not path.endswith("dangling")]:
        yield Case("file.stats", path)
    text, link, nosuch = str(folder / "text"), str(folder / "link"), str(folder / "nosuch")
    yield Case("file.stats", link, follow_symlinks=False)
    for path in (text, nosuch, str(folder)):
        yield Case("file.read", path)
        yield Case("file.readdir", path, how=SHAPE)
        yield Case("file.readlink", path)
        for form in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s", "crc"):
            yield Case("file.get_hash", path, form)
    yield Case("file.readlink", link)
    yield Case("file.readlink", link, True)
    for fun in ("readdir", "readlink"):
        yield Case(f"file.{fun}", "not/absolute")
    for found in ("three with", "  two ", "nothing of the kind"):
        yield Case("file.contains", text, found)
    yield Case("file.contains", nosuch, "x")
    for value in ("md5:00", "0" * 64, "0" * 5, 5):
        yield Case("file.check_hash", text, value)
    for pattern in ("te*t", "[k-m]ink", "*/nosuch", "nosuch*", "*"):
        yield Case("file.path_exists_glob", str(folder / pattern))


def cases(folder):
    for some in (cases_of_test, cases_of_grains, cases_of_pillar, cases_of_config, cases_of_status, cases_of_disk, cases_of_environ, cases_of_users):
        yield from some()
    yield from cases_of_network()
    yield from cases_of_cmd()
    yield from cases_of_file(folder)


WRITES = [
    ("file.write", ["new", "one", 2, None], {}),
    ("file.write", ["new"], {"args": ["a", "b"]}),
    ("file.append", ["new", "c"], {"args": "d"}),
    ("file.append", ["new", "c", "d"], {}),
    ("file.append", ["nosuch", "c"], {}),
    ("file.touch", ["stamp", 5, 6], {}),
    ("file.touch", ["stamp", "x"], {}),
    ("file.mkdir", ["made/below"], {}),
    ("file.mkdir", ["made"], {}),
    ("file.remove", ["made"], {}),
    ("file.remove", ["nosuch"], {}),
]


class Ours:
    def __init__(self, nginx):
        self.nginx = nginx

    def __call__(self, calls):
        returns = []
        for begin in range(0, len(calls), 50):
            chunks = [local(fun, tgt=MINION, arg=args, kwarg=kwargs) for fun, args, kwargs in calls[begin : begin + 50]]
            returns += [answer[MINION] for answer in self.nginx.run(*chunks)]
        return returns


@pytest.fixture(scope="module")
def python():
    return salts.require(salts.FIRST) / "bin/python"


@pytest.fixture(scope="module")
def root():
    path = pathlib.Path(tempfile.mkdtemp(prefix="rest_fcgi-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def ours(root, tmp_path_factory):
    embedded = {"minions": {"ms-1": None, "ms-2": None, MINION: {"pillar": PILLAR}}, "file_root": str(root)}
    apart = tmp_path_factory.mktemp("daemon")  # file_root must not contain files of rest_fcgi
    daemon = Daemon(apart, {"rest_fcgi": {"embedded": embedded}})
    nginx = Nginx(apart / "nginx", [daemon.address])
    yield Ours(nginx)
    nginx.stop()
    assert daemon.stop() == 0, daemon.log()


SIDES = ("mine", "real")


@pytest.fixture(scope="module")
def asked(python, ours, root):
    """Makes all calls with rest_fcgi and with Salt. Returns both answers of every case."""
    for name in ("files", *SIDES):
        (root / name).mkdir()
    all_cases = list(cases(root / "files"))
    calls = [(case.fun, case.args, case.kwargs) for case in all_cases]
    writes = {side: [(fun, [str(root / side / args[0]), *args[1:]], kwargs) for fun, args, kwargs in WRITES] for side in SIDES}
    (mine,) = ours([("sys.argspec", ["*"], {})])
    specs = [("sys.argspec", [f"{module}.*"], {}) for module in sorted({fun.split(".")[0] for fun in mine})]
    our_answers, our_writes = ours(calls), ours(writes["mine"])
    theirs = salt_minion.run(python, MINION, PILLAR, [*calls, *specs, *writes["real"]])
    answers, theirs = theirs[: len(calls)], theirs[len(calls) :]
    real = {fun: spec for answer in theirs[: len(specs)] for fun, spec in answer["ret"].items()}
    wrote = [answer["ret"] for answer in theirs[len(specs) :]]
    return list(zip(all_cases, our_answers, answers, strict=True)), (mine, real), list(zip(WRITES, our_writes, wrote, strict=True))


@pytest.fixture
def compared(asked):
    return asked[0]


def kind(value):
    """Returns the type name, with one name for all numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return type(value).__name__
    return "number"


def difference(how, ours, theirs, where=""):
    if how == VALUE and ours != theirs:
        return f"{where}: {ours!r}, and a real minion has {theirs!r}"
    if how == VALUE:
        return None
    if kind(ours) != kind(theirs):
        return f"{where}: {ours!r}, and a real minion has the {kind(theirs)} {theirs!r}"
    if isinstance(ours, dict):
        if how == SHAPE and ours.keys() != theirs.keys():
            return f"{where}: the keys {sorted(ours.keys() ^ theirs.keys())} are not in both"
        pairs = [(key, ours[key], theirs[key]) for key in ours.keys() & theirs.keys()]
    elif isinstance(ours, list):
        pairs = [(0, ours[0], theirs[0])] if ours and theirs else []
    else:
        pairs = []
    found = (difference(how, mine, real, f"{where}[{key!r}]") for key, mine, real in pairs)
    return next(filter(None, found), None)


def test_each_function_returns_the_same_as_a_real_minion(compared):
    found = []
    for case, mine, theirs in compared:
        if modules_page.differs(case.fun):
            continue
        if theirs.get("missing"):
            found.append(f"{case}: a real minion has no such function, which the page does not say")
        elif theirs.get("raised"):
            what = difference(VALUE, first_line_if_text(mine), first_line_if_text(theirs["ret"]))
            found += [f"{case}{what}"] if what else []
        else:
            what = difference(case.how, mine, theirs["ret"])
            found += [f"{case}{what}"] if what else []
    assert not found, "\n".join(found)


def test_each_grain_equals_that_of_a_real_minion(compared):
    ((mine, theirs),) = [(mine, theirs["ret"]) for case, mine, theirs in compared if case.fun == "grains.items"]
    found = [
        f"{name}: {value!r}, and a real minion has {theirs.get(name)!r}"
        for name, value in mine.items()
        if theirs.get(name) != value and not modules_page.differs(f"grain: {name}")
    ]
    assert not found, "\n".join(found)


def test_each_function_takes_the_arguments_of_a_real_minion(asked):
    mine, real = asked[1]
    found = [
        f"{fun}: {spec}, and a real minion has {real.get(fun)}"
        for fun, spec in mine.items()
        if spec != real.get(fun) and not modules_page.differs(f"argspec: {fun}") and not modules_page.differs(fun)
    ]
    assert not found, "\n".join(found)


def test_functions_that_change_files_behave_like_on_a_real_minion(asked, root):
    for (fun, args, _), here, there in asked[2]:
        expected = first_line_if_text(there)
        expected = expected.replace(str(root / "real"), str(root / "mine")) if isinstance(expected, str) else expected
        assert first_line_if_text(here) == expected, (fun, args)
    content = {side: {path.name: path.read_text() for path in (root / side).iterdir()} for side in SIDES}
    assert content["mine"] == content["real"] and "new" in content["mine"]
    assert (root / "mine/stamp").stat().st_mtime == (root / "real/stamp").stat().st_mtime == 6


def test_every_function_is_compared_or_is_listed_as_a_difference(ours, tmp_path):
    (functions,) = ours([("sys.list_functions", [], {})])
    seen = {case.fun for case in cases(tmp_path)} | {fun for fun, _, _ in WRITES} | {"status.all_status"}
    assert [fun for fun in functions if fun not in seen and not modules_page.differs(fun)] == []


def test_the_page_lists_every_module_with_its_functions(ours):
    (functions,) = ours([("sys.list_functions", [], {})])
    there_are = {}
    for name in {*functions, *modules_page.of_service()}:
        module, _, fun = name.partition(".")
        there_are.setdefault(module, []).append(fun)
    assert modules_page.functions() == {module: sorted(names) for module, names in there_are.items()}


def test_every_listed_difference_names_an_existing_function_or_grain(ours):
    functions, grains = ours([("sys.list_functions", [], {}), ("grains.ls", [], {})])
    functions += modules_page.of_service()
    grains.append("virtual_subtype")  # only a container has this grain
    known = [*functions, *(f"argspec: {fun}" for fun in functions), *(f"grain: {name}" for name in grains)]
    assert [name for name in modules_page.differences() if not fnmatch.filter(known, name)] == []
