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

/// The Python exception that Salt's function would raise. Has only what a minion's error texts show of the
/// exception.
struct Raised {
  enum class Kind {
    type_error,   ///< TypeError for wrong arguments; the minion adds the function's documentation
    invocation,   ///< SaltInvocationError or SaltClientError
    command,      ///< CommandExecutionError
    exception,    ///< an exception of any other class
    verbatim,     ///< an exception of any class; `message` is the whole error text of the minion
    unavailable,  ///< the function turned out not to exist; `message` is the reason, or empty
    interrupted,  ///< the call was asked to stop; Python has no such exception
  };
  Kind kind = Kind::exception;
  std::string type;  ///< the class of the exception, as in the last line of a traceback: `ValueError`
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised invocation_error(std::string message);
  static Raised command_error(std::string message);

  /// Returns the last line of Python's traceback: `ValueError: message`, or only the class.
  [[nodiscard]] std::string line() const;
};

using WholeNumber = std::variant<std::int64_t, Raised>;

/// Returns Python's `int(value)`. Numbers that need more than 64 bits become the largest or the smallest
/// 64-bit number.
[[nodiscard]] WholeNumber python_int(const JsonValue& value);

/// Returns Python's `int(text)`, or nothing if Python raises a ValueError. Unlike Python, does not accept
/// underscores between digits.
[[nodiscard]] std::optional<std::int64_t> python_int(std::string_view text);

/// Returns Python's `repr(text)`.
[[nodiscard]] std::string python_repr(std::string_view text);

/// Returns Python's `bool(value)`.
[[nodiscard]] bool python_bool(const JsonValue& value);

/// Returns salt.utils.data.is_true(value): true for numbers above 0, also as text, and for the text `true` in
/// upper or lower case. All other values have Python's truth value.
[[nodiscard]] bool salt_is_true(const JsonValue& value);

/// The parameters of a function.
struct Signature {
  std::string_view name;  ///< the name of the function in Python's error messages
  /// names of all parameters; parameters without a default come first
  std::vector<std::string_view> parameters;
  std::vector<std::string_view> defaults;  ///< defaults of the last parameters, as Python writes them
  std::size_t required = 0;                ///< number of parameters without a default
  bool takes_varargs = false;              ///< true if the function has `*args`
  bool takes_keywords = false;             ///< true if the function has `**kwargs`
};

/// Parses a usage such as `manage.up(tgt='*', *args, **kwargs)`. A usage may have two names, as in
/// `grains.fetch = get(key)`. Python's messages then use the name after the equals sign. Borrows `usage`.
/// REQUIRES: no default contains a comma.
[[nodiscard]] Signature parse_usage(std::string_view usage);

/// The arguments of a call, assigned to the function's parameters. Borrows the arguments.
struct BoundArguments {
  std::vector<std::string_view> parameters;
  std::vector<JsonValue> values;     ///< value of each parameter; null if the call has no argument for it
  std::vector<bool> given;           ///< whether the call has an argument for each parameter
  std::vector<JsonValue> varargs;    ///< further positional arguments, for `*args`
  std::vector<JsonMember> keywords;  ///< further keyword arguments, for `**kwargs`; each key occurs once

  /// Returns the value of a parameter. REQUIRES: the function has this parameter.
  [[nodiscard]] const JsonValue& operator[](std::string_view parameter) const;
};

/// Assigns arguments to parameters as Python does. Errors: type_error, with the sentence of Python's
/// TypeError.
[[nodiscard]] std::variant<BoundArguments, Raised> python_bind(const Signature& signature,
                                                               std::span<const JsonValue> positional,
                                                               std::span<const JsonMember> keywords);

/// Splits a command line as Python's `shlex.split` does. Only quotes and backslashes are special characters.
/// Errors: what Python raises if a quotation or an escape has no end.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text);

}  // namespace rest_fcgi::embedded
