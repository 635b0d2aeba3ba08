// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/execution.h"

namespace rest_fcgi::embedded {

/// The Python exception that Salt's function would have raised, as far as a minion's texts show it. Plain
/// value.
struct Raised {
  enum class Kind {
    type_error,         ///< arguments that do not fit: the minion adds the function's documentation
    invocation,         ///< SaltInvocationError and SaltClientError
    command,            ///< CommandExecutionError
    command_not_found,  ///< CommandNotFoundError
    exception,          ///< any other
    interrupted,        ///< no exception of Python's: the engine shut down while the function ran
  };
  Kind kind = Kind::exception;
  std::string type;  ///< the class as a traceback's last line names it: `ValueError`
  std::string message;

  static Raised type_error(std::string message);
  static Raised value_error(std::string message);
  static Raised interrupted();

  /// The last line of Python's traceback: `ValueError: message`, or the class alone.
  [[nodiscard]] std::string line() const;
};

struct Returned {
  Json value;
  int retcode = 0;
};

/// What a function gave.
using Reply = std::variant<Returned, Raised>;

/// Where a function runs. Borrows.
struct Context {
  const Minion& minion;
  const JobContext& job;
  const std::stop_token& stop;
};

/// One call, its arguments bound as Python binds them. Borrows all.
struct Call {
  const Context& context;
  std::vector<JsonValue> arguments;  ///< by position in `Function::parameters`, defaults filled in
  std::vector<JsonValue> varargs;    ///< `*args`
  std::vector<JsonMember> keywords;  ///< `**kwargs`, each key once
};

/// A parameter of a Python function.
struct Parameter {
  std::string_view name;
  std::string_view default_json = {};  ///< empty: the caller must give it
};

/// An execution function, as the tables of the modules list them. Immutable.
struct Function {
  std::string_view name;                     ///< with its module: `test.ping`
  std::string_view python_name = {};         ///< what Python's own messages call it: `true_` for `test.true`
  std::array<Parameter, 4> parameters = {};  ///< up to the first without a name
  bool takes_varargs = false;
  bool takes_keywords = false;
  std::string_view summary = {};  ///< what it does: lines of its documentation
  std::string_view example = {};  ///< lines of its CLI example, without `salt '*' `
  bool quick = true;              ///< see is_quick
  std::string_view out = {};      ///< outputter; empty: none
  Reply (*run)(const Call&) = nullptr;
};

[[nodiscard]] std::span<const Function> test_functions();
[[nodiscard]] std::span<const Function> sys_functions();
[[nodiscard]] std::span<const Function> grains_functions();

}  // namespace rest_fcgi::embedded
