// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/minion.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/master_arguments.h"

/// Functions that run on the master: runners and wheels.
namespace rest_fcgi::embedded {

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

/// One runner or wheel, as its table lists it.
struct MasterFunction {
  /// How it is called, as Python would define it: `manage.up(tgt='*', tgt_type='glob')`. Its name and its
  /// parameters are read from here: those with a default may be left out, and `*args, **kwargs` takes
  /// whatever comes. The function sees null for what the caller left out, not the default.
  std::string_view usage;
  std::string_view summary;  ///< what it does, for `doc.runner` and `doc.wheel`
  /// Errors: of any kind; the sentence is what the caller gets to see.
  Result<Json> (*run)(const MasterContext& context, const Bound& arguments) = nullptr;
  bool quick = true;  ///< ends at once

  /// With its module: `manage.up`.
  [[nodiscard]] constexpr std::string_view name() const { return usage.substr(0, usage.find('(')); }

  /// Errors: invocation, in the words in which Python complains about arguments that do not fit.
  [[nodiscard]] Result<Bound> bind(const lowstate::MasterArguments& arguments) const;
};

using MasterFunctions = std::span<const MasterFunction>;
[[nodiscard]] MasterFunctions jobs_runners();
[[nodiscard]] MasterFunctions other_runners();
[[nodiscard]] MasterFunctions wheels();

/// Null where there is no such runner.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);

/// Null where there is no such wheel.
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

}  // namespace rest_fcgi::embedded
