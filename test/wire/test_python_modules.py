# SPDX-License-Identifier: MIT

import pathlib
import shutil
import textwrap

import pytest

from support import salt_minion, salts
from support.api import local
from support.daemon import Daemon
from support.modules import PILLAR, TGT, call, with_modules
from support.nginx import Nginx
from support.process import short_directory, wait_until
from support.salt_minion import first_line_if_text

USER_MODULE = pathlib.Path(__file__).with_name("support") / "user_module.py"

CALLS = [
    ("shop.list", [], {}),
    ("shop.list", ["tea", "fruit"], {"upper": True, "x": [1]}),
    ("shop.list", ["nosuch"], {}),
    ("shop.list", ["upper=True"], {}),
    ("shop.about", ["port"], {}),
    ("shop.through", ["shop.list"], {"kind": "tea"}),
    ("shop.through", ["cmd.run", "echo one"], {}),
    ("shop.through", ["cmd.run", "exit 3"], {"python_shell": True}),
    ("shop.through", ["test.exception", "boom"], {}),
    ("shop.through", ["nosuch.function"], {}),
    ("shop.retcode", [7], {}),
    ("shop.data", [], {}),
    ("shop.fail", ["invocation"], {}),
    ("shop.fail", ["missing"], {}),
    ("shop.fail", ["zero"], {}),
    ("shop.fail", ["type"], {}),
    ("shop.needs", [1], {}),
    ("shop.needs", [1, 2], {"four": 4}),
    ("shop.wrapped", [1, 2], {}),
    ("sys.list_functions", ["shop"], {}),
    ("sys.argspec", ["shop.*"], {}),
    ("sys.doc", ["shop.list"], {}),
]


def write(folder, name, text, mode=0o644):
    (folder / name).write_text(textwrap.dedent(text))
    (folder / name).chmod(mode)


@pytest.fixture(scope="module")
def shared():
    """A running rest_fcgi with all modules, its Api behind nginx and its module folder."""
    home = short_directory()
    folder = home / "modules"
    folder.mkdir(mode=0o755)
    texts = {"my_shop": USER_MODULE.read_text(), "odd": ODD, "values": NO_JSON, "salted": SALTED, "asks": ASKS}
    for name, text in texts.items():
        write(folder, f"{name}.py", text)
    daemon = Daemon(home, with_modules(folder, script_timeout=5))
    nginx = Nginx(home / "nginx", [daemon.address])
    yield daemon, nginx, folder
    nginx.stop()
    assert daemon.stop() == 0, daemon.log()
    shutil.rmtree(home)


@pytest.fixture
def shared_api(shared):
    return shared[1]


def test_a_users_module_returns_the_same_as_on_a_real_minion(shared_api, tmp_path):
    python = salts.require(salts.FIRST) / "bin/python"
    own = tmp_path / "extmods/modules"
    own.mkdir(parents=True)
    write(own, "my_shop.py", USER_MODULE.read_text())
    mine = [call(shared_api, fun, *args, **kwargs) for fun, args, kwargs in CALLS]
    # A minion turns a text `name=value` into a keyword argument before the call, but salt_calls.py does not.
    asked = [(fun, [a for a in args if "=" not in str(a)], {**kwargs, **({"upper": True} if args == ["upper=True"] else {})}) for fun, args, kwargs in CALLS]
    theirs = salt_minion.run(python, TGT, PILLAR, asked, own.parent)
    for one, here, there in zip(CALLS, mine, theirs, strict=True):
        expected = there["ret"]
        if isinstance(here, dict) and "told" in here:
            assert here["told"] is (True if one[0] == "shop.list" else None), one
            here["told"] = expected["told"]
        if one == ("shop.needs", [1, 2], {"four": 4}):  # a minion finds the error before the call
            expected = "ERROR executing 'shop.needs': The following keyword arguments are not valid: four=4"
        assert first_line_if_text(here) == first_line_if_text(expected), one


def test_the_retcode_of_a_function_becomes_the_retcode_of_the_return(shared_api):
    api = shared_api
    (ret,) = api.run(local("shop.retcode", tgt=TGT, arg=[7], full_return=True))
    assert ret[TGT]["ret"] is True and ret[TGT]["retcode"] == 7
    assert call(api, "shop.yields") == {"a": 1, "b": 2}
    assert "jid" in api.run({**local("shop.list", tgt=TGT), "client": "local_async"})[0]
    assert call(api, "shop.through", "test.arg_clean", 1, "a=b", x=None) == {"args": [1], "kwargs": {"a": "b", "x": None}}


def test_a_function_replaces_the_native_function_of_its_name_and_modules_of_later_folders(start, front, modules, directory):
    second = directory / "second"
    second.mkdir(mode=0o755)
    write(modules, "cmd.py", "def run(cmd, **kwargs):\n    return {'uptime': 'up 3 days'}.get(cmd, 'no answer')\n")
    write(modules, "disk.py", "def usage():\n    return __salt__['cmd.run']('uptime')\n")
    write(second, "disk.py", "def usage():\n    return 'second'\ndef more():\n    return 1\n")
    daemon = start(with_modules(modules, second))
    api = front(daemon)
    assert call(api, "cmd.run", "uptime") == "up 3 days" and call(api, "cmd.run", "reboot") == "no answer"
    assert call(api, "cmd.run_stdout", "echo real") == "real"
    assert call(api, "disk.usage") == "up 3 days" and "/" in call(api, "disk.percent")
    assert call(api, "disk.more") == "'disk.more' is not available."
    assert f"{second}/disk.py is left out: {modules}/disk.py already has this module" in daemon.log()


WRONG = {
    "cmd": ("def run(:\n    pass\n", "line 1", "invalid syntax"),  # replaces a native module
    "imports": ("import os\nimport salt.utils.files\n", "line 2", "No module named 'salt.utils'"),
    "raises": ("x = 1\nraise ValueError('not today')\n", "line 2", "not today"),
    "loops": ("import time\nwhile True:\n    pass\n", "line", "took longer than 2 seconds to load"),
    "leaves": ("import sys\nsys.exit(3)\n", "line 2", "3"),
    "recurses": ("def f(): f()\nf()\n", "line 1", "recursion"),
    "catches": ("import time\nwhile True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass\n", "", "took longer than 2 seconds to load"),
    "exits": ("import os\nos._exit(0)\n", "", "exit status 0"),
    "crashes": ("import ctypes\nctypes.string_at(0)\n", "", "signal 11"),
    "kills": ("import os\nos.kill(os.getpid(), 9)\n", "", "signal 9"),
    "sums": ("SUM = sum(range(10**12))\n", "", "took longer than 2 seconds to load"),
}


def test_a_broken_module_is_logged_with_its_line_and_its_functions_return_the_reason(start, front, modules):
    for name, (text, _, _) in WRONG.items():
        write(modules, f"{name}.py", text)
    for name in ("a_good", "good", "z_good"):
        write(modules, f"{name}.py", "def fun():\n    return 1\n")
    write(modules, "forks.py", "import os\nos.fork()\ndef fun():\n    return 1\n")
    late = "import os, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.5), os._exit(9))).start()\n"
    write(modules, "late.py", late + "def fun():\n    return 1\n")
    write(modules, "open.py", "def fun():\n    return 1\n", mode=0o666)
    daemon = start(with_modules(modules))
    api = front(daemon)
    for name in ("a_good", "good", "z_good", "forks", "late"):
        assert call(api, f"{name}.fun") == 1
    log = daemon.log().splitlines()
    for name, (_, line, why) in WRONG.items():
        (warning,) = [entry for entry in log if f"{modules}/{name}.py" in entry]
        assert line in warning and why in warning
        answer = call(api, f"{name}.shell", "true")
        assert answer.startswith(f"'{name}' __virtual__ returned False: ") and why in answer
    assert f"{modules}/open.py can be changed by users other than root" in call(api, "open.fun")


def test_a_module_imports_files_beside_it_while_it_loads(start, front, modules):
    (modules / "helpers").mkdir(mode=0o755)
    write(modules / "helpers", "__init__.py", "")
    write(modules / "helpers", "names.py", "NAME = 'shop'\n")
    write(modules, "common.py", "VALUE = 7\ndef fun():\n    return 8\n")
    write(modules, "net.py", "import common\nfrom helpers.names import NAME\ndef fun():\n    return [common.VALUE, NAME]\n")
    write(modules, "uses_open.py", "import open_one\ndef fun():\n    return 1\n")
    write(modules, "open_one.py", "VALUE = 1\n", mode=0o666)
    write(modules, "later.py", "import sys\ndef fun():\n    return [folder for folder in sys.path if 'modules' in folder]\n")
    api = front(start(with_modules(modules)))
    assert call(api, "net.fun") == [7, "shop"] and call(api, "common.fun") == 8
    assert f"{modules}/open_one.py can be changed by users other than root" in call(api, "uses_open.fun")
    assert call(api, "later.fun") == []


ODD = """
    import os, signal, sys, time

    def loop():
        while True:
            time.sleep(0.1)

    def leave(status):
        print("on my way", file=sys.stderr)
        sys.exit(status)

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def prints():
        print("careful")
        os.system("echo and more")
        return 5

    def returns_much():
        return "x" * (9 << 20)

    def leaves_behind():
        child = os.fork()
        while child == 0:
            time.sleep(1000)
        return child

    def garbage():
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, b"garbage\\n[1]\\n")
            except OSError:
                pass
        return 7
"""


def test_a_function_that_breaks_its_process_returns_a_clear_error(shared):
    daemon, api, _ = shared
    assert call(api, "odd.loop") == "The function odd.loop took longer than 5 seconds and was ended."
    assert call(api, "odd.leave", 4) == "The function odd.leave ended with exit status 4: on my way"
    assert call(api, "odd.die") == "The function odd.die was ended by signal 9."
    assert call(api, "odd.prints") == 5 and "odd.prints wrote to standard error: " in daemon.log()
    assert call(api, "odd.returns_much") == "The function odd.returns_much returned more than 8388608 bytes of JSON."
    left = pathlib.Path(f"/proc/{call(api, 'odd.leaves_behind')}")
    wait_until(lambda: not left.exists(), "the child process of the function has ended")
    assert call(api, "odd.garbage") == 7


NO_JSON = """
    import collections, datetime, decimal

    def numbers():
        return {"a": [1, float("nan"), {"b": -float("inf")}], float("inf"): {float("nan")}, "big": 10**5000, "sum": 2**70}

    def objects():
        found = {"object": decimal.Decimal("1.5"), "set": {1}, "bytes": b"a\\xff", "name": "\\udcff", "deque": collections.deque([1])}
        return {**found, (1, "a"): None, b"key": (2,), None: datetime.datetime(2026, 11, 21), "map": map(str, [1]), "kind": object}

    def itself():
        value = [1]
        value.append(value)
        return value

    def deep(levels):
        value = 1
        for _ in range(levels):
            value = [value]
        return {"deep": value, "b": 2}
"""


def test_values_that_json_lacks_are_replaced_one_by_one(shared_api):
    api = shared_api
    numbers = call(api, "values.numbers")
    assert numbers.pop("big") == hex(10**5000)
    assert numbers == {"a": [1, None, {"b": None}], "Infinity": [None], "sum": 2**70}
    assert call(api, "values.objects") == {
        "object": "1.5", "set": [1], "bytes": "a\ufffd", "name": "\ufffd", "deque": [1], '[1, "a"]': None, "key": [2],
        "null": "20261121T00:00:00.000000", "map": ["1"], "kind": "<class 'object'>",
    }  # fmt: skip
    assert call(api, "values.itself") == [1, None]
    for levels in (100, 600, 3000):
        assert call(api, "values.deep", levels)["b"] == 2


SALTED = """
    import logging
    import salt.utils
    import salt.utils.files
    import yaml
    from salt.exceptions import CheckError, CommandExecutionError

    log = logging.getLogger(__name__)

    def __init__(opts):
        global ID
        ID = opts["id"]

    def reads(path):
        with salt.utils.files.fopen(path) as file:
            return yaml.safe_load(file)

    def uses():
        log.trace("as on a minion")
        return [ID, salt.utils.path.which("sh"), __utils__["files.is_empty"]("/dev/null"), "nosuch.x" in __utils__]

    def fails():
        raise CheckError("no", info={"a": [1]})

    def kind():
        return CommandExecutionError.__mro__[1].__module__, salt.__file__
"""


def test_the_key_python_selects_an_interpreter_with_its_salt(start, front, modules, tmp_path):
    python = salts.require(salts.FIRST) / "bin/python"
    write(modules, "salted.py", SALTED)
    write(modules, "light.py", "import sys\ndef imported():\n    return 'salt' in sys.modules, sys.executable\n")
    (tmp_path / "data").write_text("a: [1, x]\n")
    api = front(start(with_modules(modules, python=str(python))))
    assert call(api, "salted.reads", str(tmp_path / "data")) == {"a": [1, "x"]}
    assert call(api, "salted.uses") == [TGT, "/usr/bin/sh", True, False]
    assert call(api, "salted.fails") == "ERROR: no. Additional info follows:\n\na:\n    - 1"
    module, file = call(api, "salted.kind")
    assert module == "salt.exceptions" and file.startswith(str(python.parents[1]))
    assert call(api, "light.imported") == [False, str(python)]


def test_a_module_that_imports_a_missing_salt_names_the_key_python(shared_api):
    answer = call(shared_api, "salted.uses")
    assert answer.startswith("'salted' __virtual__ returned False: No module named 'salt.utils': ")
    assert "rest_fcgi: embedded: python" in answer


ASKS = """
    from salt.exceptions import CommandExecutionError

    def asks(fun):
        raised = []
        for kind in (KeyError, CommandExecutionError):
            try:
                __salt__[fun]()
            except kind as error:
                raised.append(str(error))
        return fun in __salt__, __salt__.get(fun), raised

    def calls(fun):
        return __salt__[fun]()

    def by_attribute():
        return __salt__.test.ping(), __salt__.config.option("hash_type"), __salt__["user.info"]("root")["uid"]
"""


def test_missing_functions_of_a_minion_raise_errors_with_the_reason(shared_api):
    api = shared_api
    for fun, lacks in (("pkg.install", "packages"), ("state.apply", "states"), ("cp.get_file", "file roots"), ("file.managed", "such function")):
        why = f"'{fun}' is not available: the embedded engine has no {lacks}"
        assert call(api, "asks.asks", fun) == [False, None, [why, why]]
    assert call(api, "asks.calls", "mine.get").startswith("ERROR: 'mine.get' is not available: the embedded engine has no ")
    assert call(api, "asks.by_attribute") == [True, "sha256", 0]


RAISES = """
import json, salt.exceptions

def all_names():
    kinds = {name: kind for name, kind in vars(salt.exceptions).items() if isinstance(kind, type)}
    return {name: [base.__name__ for base in kind.__mro__] for name, kind in kinds.items()}

def tried():
    make = salt.exceptions
    made = []
    for kind, args in (
        ("SaltException", [None]),
        ("SaltException", ["a", "b"]),
        ("CommandExecutionError", ["x", {"a": 1, "b": {"c": [1, {"d": None}]}, "changes": {}}]),
        ("CommandExecutionError", ["x!", ["y", ["z"]]]),
        ("CommandExecutionError", [b"x"]),
        ("CommandExecutionError", ["", {"changes": {"a": 1}}]),
        ("SaltRenderError", ["x", 7, "\\n".join("abcdefghijklmnop")]),
        ("SaltRenderError", ["x", 70, "a"]),
        ("SaltSystemExit", [3, "x"]),
        ("SaltCloudSystemExit", ["x"]),
        ("SaltClientTimeout", ["x", "2026"]),
        ("GitLockError", [5, "x"]),
    ):
        try:
            error = getattr(make, kind)(*args)
            about = {key: value for key, value in vars(error).items() if key != "info"}
            made.append([kind, str(error), list(map(str, error.args)), about])
        except TypeError:
            made.append([kind, "TypeError"])
    return made
"""


def test_salt_exceptions_equal_those_of_salt_without_an_installed_salt(start, front, modules):
    python = salts.require(salts.SERIES[-1]) / "bin/python"
    write(modules, "raises.py", RAISES)
    ours, theirs = (front(start(with_modules(modules, **more))) for more in ({}, {"python": str(python)}))
    for fun in ("all_names", "tried"):
        assert call(ours, f"raises.{fun}") == call(theirs, f"raises.{fun}")
