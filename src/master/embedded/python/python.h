// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/core/json_document.h"

/// Python's rules for values and arguments, and the exceptions that Salt's functions raise.
namespace rest_fcgi::embedded {

/// The Python exception that Salt's function would have raised, as far as a minion's texts show it.
struct Raised {
  enum class Kind {
    type_error,   ///< arguments do not fit; the minion adds the function's documentation
    invocation,   ///< SaltInvocationError and SaltClientError
    command,      ///< CommandExecutionError
    exception,    ///< any other exception
    verbatim,     ///< any exception; `message` is the minion's whole text about it
    unavailable,  ///< the function does not exist after all; `message` says why, or is empty
    interrupted,  ///< no Python exception: the call was asked to stop
  };
  Kind kind = Kind::exception;
  std::string type;  ///< the class, as in the last line of a traceback: `ValueError`
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised invocation_error(std::string message);
  static Raised command_error(std::string message);

  /// Returns the last line of Python's traceback: `ValueError: message`, or the class alone.
  [[nodiscard]] std::string line() const;
};

using WholeNumber = std::variant<std::int64_t, Raised>;

/// Returns `int(value)`. Numbers beyond 64 bits become the largest or smallest one.
[[nodiscard]] WholeNumber python_int(const JsonValue& value);

/// Returns `int(text)`; absent where Python raises a ValueError. Underscores between digits are not accepted.
[[nodiscard]] std::optional<std::int64_t> python_int(std::string_view text);

/// Returns `repr(text)`.
[[nodiscard]] std::string python_repr(std::string_view text);

/// Returns `bool(value)`.
[[nodiscard]] bool python_bool(const JsonValue& value);

/// Returns salt.utils.data.is_true(value): numbers above 0, also as text, and `true` in any case.
[[nodiscard]] bool salt_is_true(const JsonValue& value);

/// The parameters of a function.
struct Signature {
  std::string_view name;                     ///< as Python's messages call the function
  std::vector<std::string_view> parameters;  ///< those without a default come first
  std::vector<std::string_view> defaults;    ///< of the last parameters, as Python writes them
  std::size_t required = 0;                  ///< number of parameters without a default
  bool takes_varargs = false;                ///< `*args`
  bool takes_keywords = false;               ///< `**kwargs`
};

/// Parses a usage such as `manage.up(tgt='*', *args, **kwargs)`. In `grains.fetch = get(key)` Python's
/// messages have the name after the equals sign. Borrows `usage`. REQUIRES: no default has a comma.
[[nodiscard]] Signature parse_usage(std::string_view usage);

/// Arguments assigned to parameters. Borrows the arguments.
struct BoundArguments {
  std::vector<std::string_view> parameters;
  std::vector<JsonValue> values;     ///< by parameter; null if not given
  std::vector<bool> given;           ///< by parameter
  std::vector<JsonValue> varargs;    ///< for `*args`
  std::vector<JsonMember> keywords;  ///< for `**kwargs`, each key once

  /// Returns the value of a parameter. REQUIRES: the function has that parameter.
  [[nodiscard]] const JsonValue& operator[](std::string_view parameter) const;
};

/// Assigns arguments to parameters as Python does. Errors: type_error with Python's own sentence.
[[nodiscard]] std::variant<BoundArguments, Raised> python_bind(const Signature& signature,
                                                               std::span<const JsonValue> positional,
                                                               std::span<const JsonMember> keywords);

/// Splits a command line as Python's `shlex.split`: only quotes and backslashes are special. Errors: what
/// Python raises about a quotation or an escape without an end.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text);

}  // namespace rest_fcgi::embedded
