// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/text.h"

/// Native execution functions: their description, their arguments and their returns.
namespace rest_fcgi::embedded {

/// A call whose arguments are bound to parameters as Python binds them. Parameters without an argument have
/// their defaults.
struct Call : BoundArguments {
  const Context& context;
};

/// An entry in the table of functions of a native module.
struct Function {
  /// The definition as in Python, see parse_usage. An underscore at the end of the name is not part of the
  /// name for callers: `test.true_()` is called as `test.true`.
  std::string_view usage;
  std::string_view summary;  ///< the lines of the function's documentation
  Reply (*run)(const Call&) = nullptr;
  /// the arguments in the CLI examples of the documentation; one line for each example
  std::string_view example = {};
  bool is_quick = true;       ///< see Modules::is_quick
  std::string_view out = {};  ///< name of the outputter; empty if there is none
};

[[nodiscard]] std::span<const Function> cmd_functions();
[[nodiscard]] std::span<const Function> data_functions();  ///< the functions of config, grains and pillar
/// the functions of saltutil about jobs, and those of sys
[[nodiscard]] std::span<const Function> engine_functions();
/// the functions of beacons, mine and schedule, and the other functions of saltutil
[[nodiscard]] std::span<const Function> stub_functions();
[[nodiscard]] std::span<const Function> test_functions();

[[nodiscard]] LoadedFunctions native_functions();

/// Returns the names of the native functions in a module.
[[nodiscard]] std::vector<std::string> native_names(std::string_view module);

/// Writes the arguments `__pub_fun`, `__pub_arg` and so on as members of an open object.
void write_publication(JsonWriter& writer, const JobContext& job);

/// Writes a minion's options as members of an open object. `config.get` searches these options, and Python
/// modules get them as `__opts__`. They are Salt's defaults. They contain nothing of this server's
/// configuration, because that has secrets.
void write_minion_options(JsonWriter& writer, std::string_view id);

/// Returns what a call raises after it was asked to stop.
[[nodiscard]] inline Raised terminated() {
  return {Raised::Kind::interrupted, "", std::string(kTerminated)};
}

/// Returns how long a program of this call may run. This is `limit`, or the time until the call's deadline if
/// that is shorter.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> time_left(
    const Context& context, std::optional<std::chrono::milliseconds> limit) {
  if (!context.deadline) return limit;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*context.deadline - SteadyTime::clock::now());
  return std::min(limit.value_or(left), std::max(left, std::chrono::milliseconds(1)));
}

}  // namespace rest_fcgi::embedded
