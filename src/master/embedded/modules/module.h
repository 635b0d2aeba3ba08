// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/execution.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::embedded {

struct Returned {
  Json value = {};
  int retcode = 0;
  std::string out = {};  ///< outputter; empty: none
};

/// What a function gave.
using Reply = std::variant<Returned, Raised>;

/// Where a function runs. Borrows.
struct Context {
  const Engine& engine;
  const Minion& minion;
  const JobContext& job;
  const std::stop_token& stop;
  std::optional<SteadyTime> deadline = {};  ///< when what the function starts has to be ended; absent: never
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

/// A native execution function, as the tables of the modules list them. Immutable.
struct Function {
  std::string_view name;                     ///< with its module: `test.ping`
  std::string_view python_name = {};         ///< what Python's messages call it, where that is not its name
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

// The tables of the native modules.
[[nodiscard]] std::span<const Function> config_functions();
[[nodiscard]] std::span<const Function> cmd_functions();
[[nodiscard]] std::span<const Function> grains_functions();
[[nodiscard]] std::span<const Function> pillar_functions();
[[nodiscard]] std::span<const Function> saltutil_functions();
[[nodiscard]] std::span<const Function> sys_functions();
[[nodiscard]] std::span<const Function> test_functions();

/// The options of a minion of that id, as members of an object that is begun: what `config.get` finds and
/// Python modules see in `__opts__`. The configuration of this server is no part of them, since it holds
/// secrets.
void write_minion_options(JsonWriter& writer, std::string_view id);

/// All of them, in no order.
[[nodiscard]] std::vector<const Function*> native_functions();

}  // namespace rest_fcgi::embedded
