// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/python/python.h"
#include "master/embedded/text.h"

/// Execution functions of this program's own: how they are listed, called, and answer.
namespace rest_fcgi::embedded {

/// One call, its arguments bound as Python binds them, defaults filled in. Borrows.
struct Call : Bound {
  const Context& context;
};

/// A native execution function, as the tables of the modules list them. Immutable.
struct Function {
  /// How it is called, as Python would define it (see read_usage). An underscore behind its name is for
  /// Python's messages alone: `test.true_()` is called `test.true`.
  std::string_view usage;
  std::string_view summary;  ///< what it does: lines of its documentation
  std::string_view example;  ///< lines of its CLI example, without `salt '*' `
  Reply (*run)(const Call&) = nullptr;
  bool quick = true;          ///< see Modules::is_quick
  std::string_view out = {};  ///< outputter; empty: none
};

// The tables of the native modules.
[[nodiscard]] std::span<const Function> absent_functions();  ///< beacons, mine, saltutil, schedule
[[nodiscard]] std::span<const Function> cmd_functions();
[[nodiscard]] std::span<const Function> data_functions();    ///< config, grains, pillar
[[nodiscard]] std::span<const Function> engine_functions();  ///< saltutil, sys
[[nodiscard]] std::span<const Function> test_functions();

/// Returns the names of a module's native functions.
[[nodiscard]] std::vector<std::string> native_names(std::string_view module);

/// What all tables list, in no order.
[[nodiscard]] LoadedFunctions native_functions();

/// What Salt tells functions with `**kwargs` about the job that they are part of: `__pub_fun` and so on, as
/// the members of an object that is begun.
void write_publication(JsonWriter& writer, const JobContext& job);

/// The options of a minion of that id, as members of an object that is begun: what `config.get` finds and
/// Python modules see in `__opts__`. The configuration of this server is no part of them, since it holds
/// secrets.
void write_minion_options(JsonWriter& writer, std::string_view id);

/// SaltInvocationError.
[[nodiscard]] inline Raised invocation_error(std::string message) {
  return {Raised::Kind::invocation, "SaltInvocationError", std::move(message)};
}

/// CommandExecutionError.
[[nodiscard]] inline Raised command_error(std::string message) {
  return {Raised::Kind::command, "CommandExecutionError", std::move(message)};
}

/// A call that was asked to stop.
[[nodiscard]] inline Raised terminated() {
  return Raised::interrupted(std::string(kTerminated));
}

/// How long what a call starts may run: `limit`, but not beyond the call's own deadline.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> time_left(
    const Context& context, std::optional<std::chrono::milliseconds> limit) {
  if (!context.deadline) return limit;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*context.deadline - SteadyTime::clock::now());
  return std::min(limit.value_or(left), std::max(left, std::chrono::milliseconds(1)));
}

}  // namespace rest_fcgi::embedded
