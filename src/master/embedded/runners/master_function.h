// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/minion.h"
#include "master/embedded/modules/loader.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/master_arguments.h"

/// Functions that run on the master: runners and wheels.
namespace rest_fcgi::embedded {

/// Arguments in the order of a function's parameters. Borrows.
struct BoundArguments {
  std::vector<JsonValue> values;       ///< one for each parameter; null where the caller left it out
  std::span<const JsonValue> args;     ///< all positional ones
  std::span<const JsonMember> kwargs;  ///< all keyword arguments
};

/// What functions on the master see of one configuration. Immutable; shared by the master and by the jobs
/// that it started, which may outlive it.
struct MasterFacts {
  std::shared_ptr<const Minions> minions;
  std::shared_ptr<const Modules> modules;
  Json config_values;  ///< what `config.values` shows
};

/// What a function on the master works with. Borrows.
struct MasterContext {
  const Minions& minions;
  const Modules& modules;
  const Json& config_values;
  Jobs& jobs;
  const std::stop_token& stop;
};

struct MasterParameter {
  std::string_view name;
  bool required = false;
};

/// One runner or wheel, as its table lists it.
struct MasterFunction {
  std::string_view name;  ///< with its module: `manage.up`
  std::string_view usage;
  std::string_view summary;                    ///< what it does, for `doc.runner` and `doc.wheel`
  std::array<MasterParameter, 11> parameters;  ///< up to the first without a name
  bool any_arguments = false;                  ///< takes whatever comes
  bool quick = true;                           ///< ends at once
  /// Errors: of any kind; the sentence is what the caller gets to see.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;

  /// Errors: invocation, in the words in which Python complains about arguments that do not fit.
  [[nodiscard]] Result<BoundArguments> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions cache_runners();
[[nodiscard]] MasterFunctions doc_runners();
[[nodiscard]] MasterFunctions jobs_runners();
[[nodiscard]] MasterFunctions manage_runners();
[[nodiscard]] MasterFunctions test_runners();
[[nodiscard]] MasterFunctions config_wheels();
[[nodiscard]] MasterFunctions key_wheels();
[[nodiscard]] MasterFunctions minions_wheels();

/// All tables of runners, and of wheels, by the names of their modules.
[[nodiscard]] std::array<MasterFunctions, 5> all_runners();
[[nodiscard]] std::array<MasterFunctions, 3> all_wheels();

/// Null where there is no such runner.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);

/// Null where there is no such wheel.
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

}  // namespace rest_fcgi::embedded
