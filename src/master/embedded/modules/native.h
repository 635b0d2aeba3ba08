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

/// Native execution functions: how they are described, called, and answer.
namespace rest_fcgi::embedded {

/// A call with its arguments bound as Python binds them; parameters that were not given have their defaults.
struct Call : BoundArguments {
  const Context& context;
};

/// An entry of a native module's table.
struct Function {
  /// As Python would define it, see parse_usage. Callers do not write an underscore at the end of the name:
  /// `test.true_()` is called `test.true`.
  std::string_view usage;
  std::string_view summary;  ///< lines of its documentation
  Reply (*run)(const Call&) = nullptr;
  std::string_view example = {};  ///< arguments in its CLI example; one line for each call
  bool is_quick = true;           ///< see Modules::is_quick
  std::string_view out = {};      ///< outputter; empty: none
};

[[nodiscard]] std::span<const Function> cmd_functions();
[[nodiscard]] std::span<const Function> data_functions();    ///< config, grains, pillar
[[nodiscard]] std::span<const Function> engine_functions();  ///< saltutil's jobs, sys
[[nodiscard]] std::span<const Function> stub_functions();  ///< beacons, mine, schedule, the rest of saltutil
[[nodiscard]] std::span<const Function> test_functions();

[[nodiscard]] LoadedFunctions native_functions();

/// Returns the names of a module's native functions.
[[nodiscard]] std::vector<std::string> native_names(std::string_view module);

/// Writes `__pub_fun` and so on, as members of an open object.
void write_publication(JsonWriter& writer, const JobContext& job);

/// Writes a minion's options as members of an open object: what `config.get` finds and Python modules see in
/// `__opts__`. They are Salt's defaults, and have nothing of this server's configuration, which holds
/// secrets.
void write_minion_options(JsonWriter& writer, std::string_view id);

/// What a call raises that was asked to stop.
[[nodiscard]] inline Raised terminated() {
  return {Raised::Kind::interrupted, "", std::string(kTerminated)};
}

/// Returns how long a program of this call may run: `limit`, but not beyond the call's own deadline.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> time_left(
    const Context& context, std::optional<std::chrono::milliseconds> limit) {
  if (!context.deadline) return limit;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*context.deadline - SteadyTime::clock::now());
  return std::min(limit.value_or(left), std::max(left, std::chrono::milliseconds(1)));
}

}  // namespace rest_fcgi::embedded
