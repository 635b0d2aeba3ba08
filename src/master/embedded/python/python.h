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

/// The part of a Python exception that a minion's error text shows.
struct Raised {
  enum class Kind {
    type_error,   ///< `type_error` is a TypeError for wrong arguments. The minion adds the documentation.
    invocation,   ///< `invocation` is a SaltInvocationError or SaltClientError.
    command,      ///< `command` is a CommandExecutionError.
    exception,    ///< `exception` is an exception of any other class.
    verbatim,     ///< `verbatim` means that `message` is the minion's whole error text.
    unavailable,  ///< `unavailable` means that the function does not exist. `message` may give a reason.
    interrupted,  ///< `interrupted` means that the call was asked to stop. Python has no such exception.
  };
  Kind kind = Kind::exception;
  std::string type;  ///< The class of the exception, as in the last line of a traceback: `ValueError`.
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised invocation_error(std::string message);
  static Raised command_error(std::string message);

  /// Returns the last line of Python's traceback: `ValueError: message`. Returns only the class if the
  /// message is empty.
  [[nodiscard]] std::string line() const;
};

using WholeNumber = std::variant<std::int64_t, Raised>;

/// Returns Python's `int(value)`. If the result does not fit into 64 bits, returns the largest or the
/// smallest 64-bit integer.
[[nodiscard]] WholeNumber python_int(const JsonValue& value);

/// Returns Python's `int(text)`, or std::nullopt for a ValueError. Refuses underscores, which Python accepts.
[[nodiscard]] std::optional<std::int64_t> python_int(std::string_view text);

[[nodiscard]] std::string python_repr(std::string_view text);

[[nodiscard]] bool python_bool(const JsonValue& value);

/// Returns salt.utils.data.is_true(value): true for numbers above 0, for texts of such numbers, and for the
/// text `true`. Other values have Python's truth value.
[[nodiscard]] bool salt_is_true(const JsonValue& value);

struct Signature {
  std::string_view name;  ///< `name` is the function's name in Python's error messages.
  /// `parameters` has the names of all parameters. Those without a default come before the others.
  std::vector<std::string_view> parameters;
  std::vector<std::string_view> defaults;  ///< `defaults` are the last parameters' defaults in Python's form.
  std::size_t required = 0;                ///< `required` is the number of parameters without a default.
  bool takes_varargs = false;
  bool takes_keywords = false;
};

/// Parses a usage such as `manage.up(tgt='*', *args, **kwargs)`. For `grains.fetch = get(key)`, Python's
/// messages use the name `get`. Borrows `usage`. REQUIRES: no default contains a comma.
[[nodiscard]] Signature parse_usage(std::string_view usage);

/// The arguments of a call, assigned to the function's parameters. Borrows the arguments.
struct BoundArguments {
  std::vector<std::string_view> parameters;
  std::vector<JsonValue> values;   ///< `values` has each parameter's value, and null for a missing argument.
  std::vector<bool> given;         ///< `given` says for each parameter whether the call has an argument.
  std::vector<JsonValue> varargs;  ///< `varargs` has the further positional arguments, for `*args`.
  std::vector<JsonMember> keywords;  ///< `keywords` has the other keyword arguments, with unique keys.

  /// REQUIRES: the function has the parameter.
  [[nodiscard]] const JsonValue& operator[](std::string_view parameter) const;
};

/// Assigns arguments to parameters as Python does. Fails with the sentence of Python's TypeError.
[[nodiscard]] std::variant<BoundArguments, Raised> python_bind(const Signature& signature,
                                                               std::span<const JsonValue> positional,
                                                               std::span<const JsonMember> keywords);

/// Splits a command line as Python's `shlex.split` does. Like Python, fails if a quotation or an escape at
/// the end is not complete.
[[nodiscard]] std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text);

}  // namespace rest_fcgi::embedded
