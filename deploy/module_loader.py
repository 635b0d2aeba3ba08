# SPDX-License-Identifier: MIT
"""Loads execution modules in Salt's format for rest_fcgi, and calls a function of a module.

rest_fcgi starts this program for each call, and once to list all functions.
The program reads a request and writes an answer. Each is one line of JSON. The answer to a request for the list is
`[]` and one line for each file, so that rest_fcgi knows the file that ends the program.
If a function calls a function of rest_fcgi, the program writes the call as a line and reads the result as a line.
The output of modules goes to standard error.

The program runs as `python3 -I -B`, so PYTHONPATH and the user's site-packages have no effect.
The program imports Salt only if a module imports Salt."""

import functools
import json
import os
import re
import stat
import sys
import types
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView

if sys.version_info < (3, 9):
    sys.exit("%s: found Python %d.%d, expected Python 3.9 or newer" % (sys.executable, *sys.version_info[:2]))

ANSWER_LIMIT = 8 << 20
MOST_LEVELS = 400
MOST_BITS = 14000  # larger integers become hexadecimal text, because Python writes at most 4300 decimal digits
BYTES = (bytes, bytearray, memoryview)
NAMESPACE = "salt.loaded.ext.module."  # the prefix of module names on a minion that got its modules from the master


class Unavailable(Exception):
    """The function or its module is not available. The message has the reason, or is empty."""


class Channel:
    """Exchanges lines of JSON with rest_fcgi. Modules get other standard streams."""

    def __init__(self):
        self.process = os.getpid()
        self.input = os.fdopen(os.dup(0), "rb")
        self.output = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def read(self):
        return json.loads(self.input.readline())

    def write(self, text):
        left = memoryview(text.encode() + b"\n")
        while left:
            left = left[os.write(self.output, left) :]

    def ask(self, fun, args, kwargs):
        """Asks rest_fcgi to call one of its own functions. Raises the exception of the function."""
        self.write(encoded({"call": fun, "arg": args, "kwarg": kwargs}))
        answer = self.read()
        if "raised" in answer:
            raise raised_by(answer)
        return answer


def encoded(value):
    """Returns a value as JSON, like a minion's return in the API."""
    try:
        text = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False)
        may_be_deep = text.count("[") + text.count("{") > MOST_LEVELS
    except (TypeError, ValueError, RecursionError):
        may_be_deep = True
    if may_be_deep:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * MOST_LEVELS))
        text = json.dumps(sendable(value, ()), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # for example, a file name that is not UTF-8
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain(value):
    """Returns a value of a JSON type for a value of another type, such as a list for a set.
    Raises TypeError for iterators and for types that have no equivalent."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode(errors="replace")
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.strftime("%Y%m%dT%H:%M:%S.%f")
    raise TypeError(f"found a value of the type {type(value).__name__}, which JSON cannot hold")


def sendable(value, inside):
    """Returns a copy that JSON can express. NaN and infinities become null, and keys become texts.
    `inside` has the ids of the enclosing values, so that a value that contains itself ends with null."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, int):
        return value if value.bit_length() <= MOST_BITS else hex(value)
    if id(value) in inside or len(inside) >= MOST_LEVELS:
        return None
    inside = (*inside, id(value))
    try:
        if isinstance(value, Mapping):
            return {key_of(key, inside): sendable(value[key], inside) for key in value}
        if isinstance(value, (list, tuple, Set, Iterator, Sequence, ValuesView)) and not isinstance(value, BYTES):
            return [sendable(one, inside) for one in value]
        return plain(bytes(value) if isinstance(value, memoryview) else value)
    except Exception:
        return fallback_text(value)


def key_of(key, inside):
    if isinstance(key, str):
        return key
    text = key if isinstance(key, (int, float)) else sendable(key, inside)
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)


def fallback_text(value):
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def gathered(items):
    """Returns the items of a generator as one dictionary if all items are dictionaries, or as a list."""
    items = list(items)
    if all(isinstance(item, dict) for item in items):
        return {key: value for item in items for key, value in item.items()}
    return items


# --- Salt's own packages, for modules that import them ------------------------------------------------------------


def load_beside(file, name):
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), file))
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SaltFinder:
    """Makes `import salt.exceptions` work if this Python has no Salt. Must be the last finder in `sys.meta_path`."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "salt" and not (name.startswith("salt.") and cls.stands_in()):
            return None
        if name not in ("salt", "salt.exceptions"):
            raise ModuleNotFoundError(
                f"No module named '{name}': {sys.executable} has no Salt; set rest_fcgi: embedded: python to a Python that has it",
                name=name,
            )
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, cls, is_package=name == "salt")

    @classmethod
    def stands_in(cls):
        """Returns whether the imported module `salt` is the replacement for Salt."""
        return sys.modules["salt"].__spec__.loader is cls

    @staticmethod
    def create_module(spec):
        return load_beside("salt_exceptions.py", spec.name) if spec.name == "salt.exceptions" else None

    @staticmethod
    def exec_module(module):
        pass


sys.meta_path.append(SaltFinder)


def salt_exceptions():
    import salt.exceptions

    return salt.exceptions


def is_salts(error, *names):
    """Returns whether an exception has one of these class names in `salt.exceptions`. Imports nothing."""
    return any(kind.__name__ in names and kind.__module__ == "salt.exceptions" for kind in type(error).__mro__)


def import_by_attribute():
    """Lets modules use `salt.utils.files` after `import salt.utils`, as on a minion."""
    for name, package in list(sys.modules.items()):
        if name.partition(".")[0] == "salt" and hasattr(package, "__path__") and "__getattr__" not in vars(package):
            package.__getattr__ = functools.partial(imported_attribute, name)


def imported_attribute(package, name):
    if not name.startswith("_"):
        import importlib

        try:
            module = importlib.import_module(f"{package}.{name}")
            import_by_attribute()
            return module
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"module '{package}' has no attribute '{name}'")


class Utils(Mapping):
    """The value of `__utils__` has Salt's own utility modules. The value is empty if this Python has no Salt."""

    def __init__(self, dunders):
        self.dunders = dunders
        self.loaded = None

    def all(self):
        if self.loaded is None:
            try:
                import salt.loader
            except ModuleNotFoundError:
                return {}
            self.loaded = salt.loader.utils(self.dunders["__opts__"], context=self.dunders["__context__"])
            self.loaded.pack["__salt__"] = self.dunders["__salt__"]
        return self.loaded

    def __getitem__(self, name):
        return self.all()[name]

    def __iter__(self):
        return iter(self.all())

    def __len__(self):
        return len(self.all())


def raised_by(answer):
    """Returns the exception for an error of a function of rest_fcgi."""
    kinds = {
        "command": salt_exceptions().CommandExecutionError,
        "invocation": salt_exceptions().SaltInvocationError,
        "type_error": TypeError,
        "unavailable": KeyError,
    }
    named = vars(__builtins__).get(answer.get("type", ""), RuntimeError)
    kind = kinds.get(answer["raised"], named if isinstance(named, type) and issubclass(named, Exception) else RuntimeError)
    return kind(answer["message"])


# --- modules ------------------------------------------------------------------------------------------------------


class NeighbourFinder:
    """Lets a module import the files beside it while the module loads, as on a minion. The folder is the last one of
    `sys.path`. A file that users other than `owners` can change is refused, as rest_fcgi refuses such a module."""

    def __init__(self, path, owners):
        self.folder = os.path.dirname(path)
        self.owners = owners
        (self.finder,) = (one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder")

    def __enter__(self):
        sys.path.append(self.folder)
        sys.meta_path.insert(sys.meta_path.index(self.finder), self)

    def __exit__(self, *_):
        sys.meta_path.remove(self)
        sys.path.remove(self.folder)

    def find_spec(self, name, path=None, target=None):
        spec = self.finder.find_spec(name, path, target)
        if spec and spec.has_location and spec.origin.startswith(self.folder + "/"):
            part = os.path.realpath(spec.origin)
            self.check(part, name)
            while part != "/":
                part = os.path.dirname(part)
                self.check(part, name, stat.S_ISVTX)
        return spec

    def check(self, part, name, protection=0):
        status = os.stat(part)
        is_open = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & protection
        if is_open or status.st_uid not in self.owners:
            raise ImportError(f"{part} can be changed by users other than root and the server's user", name=name)


class Module:
    """A loaded module. The name is the module's `__virtualname__`, if set."""

    def __init__(self, path, dunders, owners=()):
        """Without `owners`, the module cannot import the files beside it."""
        self.path = path
        self.name = os.path.basename(path)[: -len(".py")]
        self.module = types.ModuleType(NAMESPACE + self.name)
        self.module.__file__ = path
        sys.modules[self.module.__name__] = self.module
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        if owners:
            with NeighbourFinder(path, owners):
                exec(code, vars(self.module))
        else:
            exec(code, vars(self.module))
        if "salt" in sys.modules:
            import_by_attribute()
        add_levels()
        vars(self.module).update(dunders)
        init = getattr(self.module, "__init__", None)
        if isinstance(init, types.FunctionType):
            init(dunders.get("__opts__"))
        self.missing = None

    def ask_virtual(self):
        virtual = getattr(self.module, "__virtual__", None)
        if not isinstance(virtual, types.FunctionType):
            return
        reason = ""
        try:
            answer = virtual()
        except Exception as error:
            answer = False
            reason = (
                f"Exception raised when processing __virtual__ function for {self.module.__name__}. "
                f"Module will not be loaded: {error}"
            )
        if isinstance(answer, tuple):
            answer, reason = (*answer, "")[:2]
        if not answer:
            self.missing = str(reason or "")
            answer = True
        name = getattr(self.module, "__virtualname__", answer)
        self.name = name if isinstance(name, str) else self.name

    def functions(self):
        """Returns a map from name to function. Functions that the module imports are left out."""
        found = {}
        named = getattr(self.module, "__load__", None) or getattr(self.module, "__all__", None) or dir(self.module)
        aliases = getattr(self.module, "__func_alias__", {})
        for attribute in named:
            value = getattr(self.module, attribute)
            if attribute.startswith("_") or not isinstance(value, types.FunctionType):
                continue
            if value.__module__.startswith(NAMESPACE):
                found[aliases.get(attribute, attribute)] = value
        return found

    def outputter(self, function):
        return getattr(self.module, "__outputter__", {}).get(function.__name__, "")


def add_levels():
    """Adds the methods `garbage`, `trace` and `profile` of a minion's loggers to loggers."""
    logging = sys.modules.get("logging")
    if logging is None or hasattr(logging.Logger, "trace"):
        return
    for name, level in (("garbage", 1), ("trace", 5), ("profile", 15)):
        setattr(logging.Logger, name, functools.partialmethod(logging.Logger.log, level))


class Functions(Mapping):
    """The value of `__salt__` maps names to functions. A Python function is loaded at its first use."""

    def __init__(self, request, channel):
        self.channel = channel
        self.python = request["python"]
        self.native = set(request["native"])  # names of the functions that rest_fcgi runs itself
        self.shipped = request["shipped"]
        self.uid = request["uid"]  # of rest_fcgi, which may be another user
        self.pillar = request["pillar"]
        self.context = {}
        self.dunders = {
            "__salt__": self,
            "__grains__": request["grains"],
            "__pillar__": request["pillar"],
            "__opts__": minion_options(request),
            "__context__": self.context,
            "__proxy__": {},
            "__file_client__": None,
        }
        self.dunders["__utils__"] = Utils(self.dunders)
        self.modules = {}

    def load(self, path):
        if path not in self.modules:
            owners = () if path in self.shipped.values() else (0, self.uid)
            self.modules[path] = module = Module(path, self.dunders, owners)
            module.ask_virtual()
        return self.modules[path]

    def path_of(self, name):
        if name in self.python:
            return self.python[name]
        if name in self.native:
            return None
        return self.shipped.get(name.partition(".")[0])

    def python_function(self, name, path):
        """Returns a Python function. Raises Unavailable, or any exception of the module while the module loads."""
        module = self.load(path)
        module_name, _, function = name.partition(".")
        if module.missing is not None:
            raise Unavailable(f"'{module_name}' __virtual__ returned False" + (module.missing and f": {module.missing}"))
        found = module.functions().get(function)
        if found is None or module_name != module.name:
            raise Unavailable("")
        return found

    def __getitem__(self, name):
        found = self.find(name)
        if found is None:
            raise load_beside("salt_functions.py", "salt_functions").error_for(name)
        return found

    def __contains__(self, name):
        return self.find(name) is not None

    def get(self, name, default=None):
        return self.find(name) or default

    def __getattr__(self, module):
        """Returns the functions of a module, so that `__salt__.test.ping` works."""
        if module.startswith("_"):
            raise AttributeError(module)
        return ModuleFunctions(self, module)

    def find(self, name):
        path = self.path_of(name)
        if path is None:
            return functools.partial(self.call_native, name) if name in self.native else None
        try:
            return self.python_function(name, path)
        except Unavailable:
            return None

    def call_native(self, name, *args, **kwargs):
        answer = self.channel.ask(name, args, kwargs)
        if answer["retcode"]:
            self.context["retcode"] = answer["retcode"]
        return answer["return"]

    def __iter__(self):
        yield from {**self.python, **dict.fromkeys(self.native)}
        for module, path in self.shipped.items():
            yield from (f"{module}.{function}" for function in self.load(path).functions())

    def __len__(self):
        return sum(1 for _ in self)


class ModuleFunctions:
    def __init__(self, functions, module):
        self.functions = functions
        self.module = module

    def __getattr__(self, name):
        try:
            return self.functions[f"{self.module}.{name}"]
        except KeyError as error:
            raise AttributeError(str(error)) from None


def minion_options(request):
    """Returns the value of `__opts__`. The cache folder is in the user's home."""
    cachedir = os.path.join(os.path.expanduser("~"), ".cache/rest_fcgi/minion", request["opts"]["id"])
    about = {"grains": request["grains"], "pillar": request["pillar"], "cachedir": cachedir, "user": user_name()}
    return {**request["opts"], **about}


def user_name():
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def make_cachedir(options):
    try:
        os.makedirs(options["cachedir"], 0o700, exist_ok=True)
    except OSError:
        pass


# --- one call -----------------------------------------------------------------------------------------------------


def unwrapped(function):
    """Returns the function inside decorators that use functools.wraps."""
    while isinstance(getattr(function, "__wrapped__", None), types.FunctionType):
        function = function.__wrapped__
    return function


def parameters_of(function):
    """Returns the names of the parameters, and whether the function has *args and **kwargs."""
    code = unwrapped(function).__code__
    end = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    return (
        list(names[: code.co_argcount]),
        list(names[code.co_argcount : end]),
        bool(code.co_flags & 0x04),
        bool(code.co_flags & 0x08),
    )


def arguments_for(function, request):
    """Returns the checked keyword arguments. A function with **kwargs also gets keywords about the job."""
    names, by_name, _, takes_all = parameters_of(function)
    kwargs = request["kwarg"]
    invalid = [f"{key}={value}" for key, value in kwargs.items() if not takes_all and key not in names + by_name]
    if invalid:
        raise salt_exceptions().SaltInvocationError(f"The following keyword arguments are not valid: {', '.join(invalid)}")
    return {**kwargs, **request["pub"]} if takes_all else kwargs


def trace_of(error):
    """Returns the traceback as Python prints it, from the first frame of the module."""
    import traceback

    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip("\n") + "\n"


def call(request, functions):
    """Returns the answer to a call.
    The answer has "return", "retcode" and "out", or the "text" of an exception, or the reason in "unavailable"."""
    fun = request["fun"]
    function = None
    try:
        function = functions.python_function(fun, request["path"])
        outputter = functions.load(request["path"]).outputter(function)
        value = function(*request["arg"], **arguments_for(function, request))
        if isinstance(value, types.GeneratorType):
            value = gathered(value)
    except Unavailable as error:
        return {"unavailable": str(error)}
    except Exception as error:
        return {"text": text_of(error, fun, function)} if function or is_salts(error, "SaltException") else broken(fun, error)
    return {"return": value, "retcode": functions.context.get("retcode", 0), "out": outputter}


def text_of(error, fun, function):
    if is_salts(error, "CommandNotFoundError"):
        return f"Command required for '{fun}' not found: {error}"
    if is_salts(error, "CommandExecutionError"):
        return f"ERROR: {error}"
    if is_salts(error, "SaltInvocationError", "SaltClientError"):
        return f"ERROR executing '{fun}': {error}"
    if isinstance(error, TypeError):
        return f"Passed invalid arguments to {fun}: {error}\n{function.__doc__ or ''}"
    return f"The minion function caused an exception: {trace_of(error)}"


def broken(fun, error):
    return {"unavailable": f"'{fun.partition('.')[0]}' __virtual__ returned False: {error}"}


def answer_to_call(request, channel):
    functions = Functions(request, channel)
    make_cachedir(functions.dunders["__opts__"])
    answer = call(request, functions)
    try:
        text = encoded(answer)
    except Exception as error:
        return encoded({"text": f"The function {request['fun']} returned a value that cannot be sent: {error}"})
    if len(text) >= ANSWER_LIMIT or len(text.encode()) >= ANSWER_LIMIT:
        return encoded({"text": f"The function {request['fun']} returned more than {ANSWER_LIMIT} bytes of JSON."})
    return text


# --- the list of all functions ------------------------------------------------------------------------------------


def argspec(function):
    """Returns the arguments of a function as sys.argspec shows them."""
    names, _, takes_args, takes_kwargs = parameters_of(function)
    defaults = unwrapped(function).__defaults__
    return {
        "args": names or None,
        "defaults": list(defaults) if defaults else None,
        "varargs": takes_args or None,
        "kwargs": takes_kwargs or None,
    }


def documentation(function):
    text = function.__doc__ or ""
    text = re.sub(r" *.. code-block:: \S+\n{1,2}", "", text)
    return text.replace(".. note::", "Note:").replace(".. warning::", "Warning:")


def described(function):
    spec = argspec(function)
    try:
        encoded(spec)
    except (TypeError, ValueError):
        spec["defaults"] = [repr(value) for value in spec["defaults"]]
    return {"doc": documentation(function), "argspec": spec}


def where(error, path):
    """Returns the line of a module's file that raised an exception."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class TooLong(BaseException):
    """Ends the loading of a slow module. A module that catches every Exception does not catch TooLong."""


def load_in_time(functions, path, seconds):
    """Loads a module. Raises TooLong after `seconds`. If the module catches this, or if C code goes on, ends the program."""
    import _signal as signal  # the import of `signal` is slower, because `signal` creates enumerations
    import faulthandler

    raised = []

    def end(*_):
        late = TooLong(f"took longer than {seconds:g} seconds to load")
        if raised and os.getpid() == functions.channel.process:
            functions.channel.write(encoded({"path": path, "broken": str(late)}))
            os._exit(1)
        raised.append(late)
        raise late

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    faulthandler.dump_traceback_later(seconds + 1, exit=True)
    try:
        return functions.load(path)
    finally:
        if os.getpid() == functions.channel.process:  # a process that the module forked has no watchdog
            faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)


def index_of(path, functions, seconds):
    try:
        module = load_in_time(functions, path, seconds)
        found = {f"{module.name}.{name}": described(function) for name, function in module.functions().items()}
    except BaseException as error:
        reason = str(error) or type(error).__name__
        return {"path": path, "broken": reason, "line": where(error, path)}
    return {"path": path, "missing": module.missing, "functions": found}


def write_index(request, channel):
    channel.write("[]")
    functions = Functions(request, channel)
    for path in request["index"]:
        answer = encoded(index_of(path, functions, request["seconds"]))
        if os.getpid() != channel.process:  # a module may fork while it loads
            os._exit(0)
        channel.write(answer)


def main():
    channel = Channel()
    request = channel.read()
    if "index" in request:
        write_index(request, channel)
    else:
        answer = answer_to_call(request, channel)
        if os.getpid() == channel.process:  # a forked process of a function must not answer
            channel.write(answer)
    sys.stderr.flush()
    os._exit(0)  # os._exit does not wait for threads of a function


if __name__ == "__main__":
    main()
