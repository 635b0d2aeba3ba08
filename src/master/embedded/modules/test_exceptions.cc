// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>

#include "master/embedded/modules/test_module.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::test_module {
namespace {

using Kind = Raised::Kind;

constexpr std::string_view kSaltPrefix = "salt.exceptions.";

/// Python's built-in exceptions, without those that take more than a message.
constexpr std::array<std::string_view, 58> kPythonExceptions = {"ArithmeticError",
                                                                "AssertionError",
                                                                "AttributeError",
                                                                "BlockingIOError",
                                                                "BrokenPipeError",
                                                                "BufferError",
                                                                "BytesWarning",
                                                                "ChildProcessError",
                                                                "ConnectionAbortedError",
                                                                "ConnectionError",
                                                                "ConnectionRefusedError",
                                                                "ConnectionResetError",
                                                                "DeprecationWarning",
                                                                "EOFError",
                                                                "EncodingWarning",
                                                                "EnvironmentError",
                                                                "Exception",
                                                                "FileExistsError",
                                                                "FileNotFoundError",
                                                                "FloatingPointError",
                                                                "FutureWarning",
                                                                "IOError",
                                                                "ImportError",
                                                                "ImportWarning",
                                                                "IndentationError",
                                                                "IndexError",
                                                                "InterruptedError",
                                                                "IsADirectoryError",
                                                                "KeyError",
                                                                "LookupError",
                                                                "MemoryError",
                                                                "ModuleNotFoundError",
                                                                "NameError",
                                                                "NotADirectoryError",
                                                                "NotImplementedError",
                                                                "OSError",
                                                                "OverflowError",
                                                                "PendingDeprecationWarning",
                                                                "PermissionError",
                                                                "ProcessLookupError",
                                                                "RecursionError",
                                                                "ReferenceError",
                                                                "ResourceWarning",
                                                                "RuntimeError",
                                                                "RuntimeWarning",
                                                                "StopIteration",
                                                                "SyntaxError",
                                                                "SyntaxWarning",
                                                                "SystemError",
                                                                "TabError",
                                                                "TimeoutError",
                                                                "TypeError",
                                                                "UnboundLocalError",
                                                                "UnicodeError",
                                                                "UserWarning",
                                                                "ValueError",
                                                                "Warning",
                                                                "ZeroDivisionError"};

struct SaltException {
  std::string_view name;
  Kind kind = Kind::exception;
};

/// Those of salt.exceptions that execution functions raise.
constexpr std::array<SaltException, 25> kSaltExceptions = {{{"ArgumentValueError", Kind::command},
                                                            {"AuthenticationError"},
                                                            {"AuthorizationError"},
                                                            {"CheckError", Kind::command},
                                                            {"CommandExecutionError", Kind::command},
                                                            {"CommandNotFoundError", Kind::command_not_found},
                                                            {"EauthAuthenticationError"},
                                                            {"FileLockError"},
                                                            {"InvalidConfigError", Kind::command},
                                                            {"InvalidEntityError", Kind::command},
                                                            {"LoaderError"},
                                                            {"MinionError"},
                                                            {"PkgParseError"},
                                                            {"SaltCacheError"},
                                                            {"SaltClientError", Kind::invocation},
                                                            {"SaltClientTimeout"},
                                                            {"SaltConfigurationError"},
                                                            {"SaltDeserializationError"},
                                                            {"SaltException"},
                                                            {"SaltInvocationError", Kind::invocation},
                                                            {"SaltRenderError"},
                                                            {"SaltReqTimeoutError"},
                                                            {"SaltRunnerError"},
                                                            {"SaltValidationError"},
                                                            {"TimedProcTimeoutError"}}};

/// The kind of the exception of that name; absent where there is none.
std::optional<Kind> kind_of(std::string_view name) {
  if (name.starts_with(kSaltPrefix)) {
    const std::string_view short_name = name.substr(kSaltPrefix.size());
    const auto found = std::find_if(kSaltExceptions.begin(), kSaltExceptions.end(),
                                    [short_name](const SaltException& e) { return e.name == short_name; });
    if (found == kSaltExceptions.end()) return std::nullopt;
    return found->kind;
  }
  if (std::find(kPythonExceptions.begin(), kPythonExceptions.end(), name) == kPythonExceptions.end()) {
    return std::nullopt;
  }
  return name == "TypeError" ? Kind::type_error : Kind::exception;
}

/// `str(exception)`, which depends on how many arguments made it.
std::string message_of(std::string_view name, const std::vector<JsonValue>& args) {
  if (args.empty()) return {};
  if (args.size() == 1) return name == "KeyError" ? args[0].python_repr() : args[0].python_str();
  std::string list;
  for (const JsonValue& value : args) list += (list.empty() ? "" : ", ") + value.python_repr();
  return "(" + list + ")";
}

}  // namespace

Reply assertion(const Call& call) {
  if (python_bool(call.arguments[0])) return Returned{};
  return Raised{Kind::exception, "AssertionError", ""};
}

Reply exception(const Call& call) {
  return Raised{Kind::exception, "Exception", call.arguments[0].python_str()};
}

Reply raise_exception(const Call& call) {
  const JsonValue& name = call.arguments[0];
  const std::optional<Kind> kind = name.is(JsonValue::Kind::string) ? kind_of(name.text()) : std::nullopt;
  if (!kind) return Returned{Json::boolean(false)};
  const bool has_keywords =
      std::any_of(call.keywords.begin(), call.keywords.end(),
                  [](const JsonMember& member) { return !member.key.starts_with("__"); });
  if (has_keywords) return Raised::type_error(format("{}() takes no keyword arguments", name.text()));
  return Raised{*kind, std::string(name.text()), message_of(name.text(), call.varargs)};
}

}  // namespace rest_fcgi::embedded::test_module
