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
#include "master/embedded/python/raised.h"

namespace rest_fcgi::embedded {

struct Returned {
  Json value;
  int retcode = 0;
};

/// What a function gave.
using Reply = std::variant<Returned, Raised>;

/// Where a function runs. Borrows.
struct Context {
  const Engine& engine;
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
  std::array<Parameter, 6> parameters = {};  ///< up to the first without a name
  std::span<const Parameter> long_parameters = {};  ///< in place of `parameters`, where they are more
  bool takes_varargs = false;
  bool takes_keywords = false;
  std::string_view summary = {};  ///< what it does: lines of its documentation
  std::string_view example = {};  ///< lines of its CLI example, without `salt '*' `
  bool quick = true;              ///< see Modules::is_quick
  std::string_view out = {};      ///< outputter; empty: none
  Reply (*run)(const Call&) = nullptr;
};

// The tables of the built-in modules; builtins.cc lists them.
[[nodiscard]] std::span<const Function> config_functions();
[[nodiscard]] std::span<const Function> disk_functions();
[[nodiscard]] std::span<const Function> file_functions();
[[nodiscard]] std::span<const Function> cmd_functions();
[[nodiscard]] std::span<const Function> grains_functions();
[[nodiscard]] std::span<const Function> network_functions();
[[nodiscard]] std::span<const Function> pillar_functions();
[[nodiscard]] std::span<const Function> saltutil_functions();
[[nodiscard]] std::span<const Function> service_functions();
[[nodiscard]] std::span<const Function> status_functions();
[[nodiscard]] std::span<const Function> sys_functions();
[[nodiscard]] std::span<const Function> test_functions();

/// The functions of all built-in modules, in no order.
[[nodiscard]] std::vector<const Function*> builtin_functions();

}  // namespace rest_fcgi::embedded
