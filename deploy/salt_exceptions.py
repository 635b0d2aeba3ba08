# SPDX-License-Identifier: MIT
"""Replaces `salt.exceptions` if the Python of the modules has no Salt. Has all names of Salt 3006 to 3008."""

import copy as _copy
import time as _time

_TREE = """
SaltException:
  SaltClientError SaltMasterError SaltNoMinionsFound SaltSyndicMasterError SaltMasterUnresolvableError AuthenticationError
  CommandNotFoundError LoaderError PublishError MinionError FileserverConfigError GitRemoteError PkgParseError SaltCacheError
  TimeoutError SaltReqTimeoutError TimedProcTimeoutError EauthAuthenticationError TokenAuthenticationError TokenExpiredError
  SaltDeserializationError AuthorizationError SaltValidationError UnsupportedAlgorithm SaltDaemonNotRunning SaltRunnerError
  SaltWheelError SaltConfigurationError SaltCloudException NotImplemented TemplateError MissingSmb NxosError
CommandExecutionError:
  ArgumentValueError CheckError InvalidConfigError InvalidEntityError VMwareSaltError CodePageError
VMwareSaltError:
  VMwareRuntimeError VMwareConnectionError VMwareObjectRetrievalError VMwareObjectNotFoundError VMwareObjectExistsError
  VMwareNotFoundError VMwareApiError VMwareSystemError VMwarePowerOnError VMwareVmRegisterError VMwareVmCreationError
VMwareObjectRetrievalError: VMwareMultipleObjectsError
VMwareApiError: VMwareFileNotFoundError
NxosError: NxosCliError NxosClientError NxosRequestNotSupported
SaltCloudException:
  SaltCloudConfigError SaltCloudNotFound SaltCloudExecutionTimeout SaltCloudExecutionFailure SaltCloudPasswordError
"""


def get_error_message(error):
    """Return the first argument of an exception, or an empty text."""
    return error.args[0] if error.args else ""


class SaltException(Exception):
    def __init__(self, message=""):
        if not isinstance(message, str):
            message = str(message)
        super().__init__(message)
        self.message = self.strerror = message

    def pack(self):
        return {"message": str(self), "args": self.args}


class CommandExecutionError(SaltException):
    def __init__(self, message="", info=None):
        self.error = message.decode() if isinstance(message, bytes) else str(message)
        self.info = info
        text = self.strerror_without_changes = self.error
        if info:
            end = "" if not text else " " if text[-1] in ".?!" else ". "
            start = f"{text}{end}Additional info follows:\n\n"
            text = self.strerror_without_changes = start + "\n".join(_nested(info))
            if isinstance(info, dict) and "changes" in info:
                others = {key: value for key, value in _copy.deepcopy(info).items() if key != "changes"}
                self.strerror_without_changes = start + "\n".join(_nested(others)) if others else self.error
        super().__init__(text)


def _nested(value, indent="", is_inner=False):
    """Yields the lines that Salt's outputter `nested` prints, without colours."""
    if isinstance(value, dict):
        if is_inner:
            yield f"{indent}----------"
        for key in sorted(value, key=str):
            yield f"{indent}{key}:"
            yield from _nested(value[key], indent + "    ", True)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (dict, list, tuple)):
                yield f"{indent}|_"
                yield from _nested(item, indent + "  ", isinstance(item, dict))
            else:
                yield f"{indent}- {item}"
    else:
        yield from (indent + line for line in str(value).splitlines())


class SaltInvocationError(SaltException, TypeError):
    pass


class InvalidKeyError(SaltException, ValueError):
    pass


class MasterExit(SystemExit):
    pass


class SaltSystemExit(SystemExit):
    def __init__(self, code=0, msg=None):
        super().__init__(msg)


class LoggingRuntimeError(RuntimeError):
    pass


class FileLockError(SaltException):
    def __init__(self, message, time_start=None):
        super().__init__(message)
        self.time_start = _time.time() if time_start is None else time_start


class GitLockError(SaltException):
    def __init__(self, errno, message):
        super().__init__(message)
        self.errno = errno


class SaltClientTimeout(SaltException):
    def __init__(self, message, jid=None):
        super().__init__(message)
        self.jid = jid


class SaltRenderError(SaltException):
    def __init__(self, message, line_num=None, buf="", marker="    <======================", trace=None):
        self.error = message
        self.line_num = line_num
        self.buffer = buf
        self.context = ""
        text = message.decode() if isinstance(message, bytes) else str(message)
        if trace:
            text += f"\n{trace}\n"
        if line_num and buf:
            self.context = _context(buf, line_num, marker)
            text += f"; line {line_num}\n\n{self.context}"
        super().__init__(text)


def _context(text, number, marker):
    """Returns a marked line with its context, or the whole text if the line does not exist."""
    lines = text.splitlines()
    if number > len(lines):
        return text
    lines[number - 1] += marker
    begin, end = max(0, number - 6), number + 5
    shown = ["[...]"] * (begin > 0) + lines[begin:end] + ["[...]"] * (end < len(lines))
    return "\n".join(["---", *shown, "---"])


def _make_others():
    names = globals()
    parent = None
    for word in _TREE.split():
        if word.endswith(":"):
            parent = names[word[:-1]]
        else:
            names[word] = type(word, (parent,), {"__module__": __name__})


_make_others()


class SaltCloudSystemExit(SaltCloudException):  # noqa: F821
    def __init__(self, message, exit_code=1):
        super().__init__(message)
        self.exit_code = exit_code
