// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/core/json_document.h"

/// What Python makes of the values that callers hand to functions written for Python, and what it raises.
namespace rest_fcgi::embedded {

/// The Python exception that Salt's function would have raised, as far as a minion's texts show it. Plain
/// value.
struct Raised {
  enum class Kind {
    type_error,   ///< arguments that do not fit: the minion adds the function's documentation
    invocation,   ///< SaltInvocationError and SaltClientError
    command,      ///< CommandExecutionError
    exception,    ///< any other
    worded,       ///< any, and `message` is the minion's whole text about it
    unavailable,  ///< there is no such function after all; `message` says why, or is empty
    interrupted,  ///< no exception of Python's: the engine shut down while the function ran
  };
  Kind kind = Kind::exception;
  std::string type;  ///< the class as a traceback's last line names it: `ValueError`
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised interrupted(std::string message);

  /// The last line of Python's traceback: `ValueError: message`, or the class alone.
  [[nodiscard]] std::string line() const;
};

/// A whole number, or the exception that kept us from having one.
using WholeNumber = std::variant<std::int64_t, Raised>;

/// `int(value)`. Numbers beyond 64 bits become the largest or smallest one; callers have limits far below.
[[nodiscard]] WholeNumber python_int(const JsonValue& value);

/// `int(text)`, but for underscores between digits; absent where Python raises a ValueError.
[[nodiscard]] std::optional<std::int64_t> python_int(std::string_view text);

/// `repr(text)`.
[[nodiscard]] std::string python_repr(std::string_view text);

/// `bool(value)`.
[[nodiscard]] bool python_bool(const JsonValue& value);

/// Salt's own idea of truth, salt.utils.data.is_true: numbers above 0, also as text, and `true` in any case.
[[nodiscard]] bool salt_is_true(const JsonValue& value);

/// What Python knows of a function's parameters when it is called.
struct Signature {
  std::string_view name;                     ///< as Python's messages call it
  std::vector<std::string_view> parameters;  ///< those without a default come first
  std::vector<std::string_view> defaults;    ///< of the last parameters, as Python writes them
  std::size_t required = 0;                  ///< how many have no default
  bool takes_varargs = false;                ///< `*args`
  bool takes_keywords = false;               ///< `**kwargs`
};

/// What a usage says, such as `manage.up(tgt='*', *args, **kwargs)`. It may also be `grains.fetch =
/// get(key)`, where Python's messages have the name behind the equals sign. Borrows; REQUIRES: no default has
/// a comma.
[[nodiscard]] Signature read_usage(std::string_view usage);

/// Arguments put to parameters. Borrows.
struct Bound {
  std::vector<std::string_view> parameters;
  std::vector<JsonValue> values;     ///< by parameter; null where none was given
  std::vector<bool> given;           ///< by parameter
  std::vector<JsonValue> varargs;    ///< for `*args`
  std::vector<JsonMember> keywords;  ///< for `**kwargs`, each key once

  /// The value of a parameter. REQUIRES: there is one of that name.
  [[nodiscard]] const JsonValue& operator[](std::string_view parameter) const;
};

/// Puts arguments to parameters as Python does. Errors: type_error with Python's own sentence where they do
/// not fit.
[[nodiscard]] std::variant<Bound, Raised> python_bind(const Signature& signature,
                                                      std::span<const JsonValue> positional,
                                                      std::span<const JsonMember> keywords);

/// The words of a command line as Python's `shlex.split` finds them: quotes and backslashes of a shell, and
/// nothing else of one. Errors: what Python raises about a quotation or an escape that does not end.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text);

}  // namespace rest_fcgi::embedded
