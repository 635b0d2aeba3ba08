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

namespace rest_fcgi::embedded {

/// A call whose arguments are assigned to parameters as in Python.
struct Call : BoundArguments {
  const Context& context;
};

struct Function {
  /// The function's definition in Python; see parse_usage. Callers omit an underscore at the end of the name:
  /// `test.true` calls `test.true_()`.
  std::string_view usage;
  std::string_view summary;
  Reply (*run)(const Call&) = nullptr;
  /// The arguments in the CLI examples of the documentation, one line for each example.
  std::string_view example = {};
  bool is_quick = true;       ///< `is_quick` is the result of Modules::is_quick for the function.
  std::string_view out = {};  ///< `out` is the name of the outputter, or empty.
};

[[nodiscard]] std::span<const Function> cmd_functions();
/// Returns the functions of the modules config, grains and pillar.
[[nodiscard]] std::span<const Function> data_functions();
[[nodiscard]] std::span<const Function> engine_functions();
/// Returns the functions of the modules beacons, mine and schedule, and those functions of saltutil that
/// `engine_functions` lacks.
[[nodiscard]] std::span<const Function> stub_functions();
[[nodiscard]] std::span<const Function> test_functions();

[[nodiscard]] LoadedFunctions native_functions();

[[nodiscard]] std::vector<std::string> native_names(std::string_view module);

/// Writes the job as `__pub_fun`, `__pub_arg`, ... into a JSON object that the caller has begun.
void write_publication(JsonWriter& writer, const JobContext& job);

/// Writes a minion's options as members of a JSON object that the caller has begun. The options are Salt's
/// defaults, because the server's configuration has secrets. `config.get` searches the options, and Python
/// modules get them as `__opts__`.
void write_minion_options(JsonWriter& writer, std::string_view id);

[[nodiscard]] inline Raised terminated() {
  return {Raised::Kind::interrupted, "", std::string(kTerminated)};
}

/// Returns how long a program of the call may run: `limit`, or less if the call's deadline is earlier.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> time_left(
    const Context& context, std::optional<std::chrono::milliseconds> limit) {
  if (!context.deadline) return limit;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*context.deadline - SteadyTime::clock::now());
  return std::min(limit.value_or(left), std::max(left, std::chrono::milliseconds(1)));
}

}  // namespace rest_fcgi::embedded
