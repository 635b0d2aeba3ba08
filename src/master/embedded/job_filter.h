// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// Which jobs `jobs.list_jobs` lists: those that pass all that was asked for. Borrows the arguments.
class JobFilter {
 public:
  /// What is null or empty asks for nothing.
  struct Arguments {
    JsonValue metadata;    ///< an object: one of its members is among the job's metadata
    JsonValue function;    ///< globs, a list or separated by commas: one matches a function of the job
    JsonValue target;      ///< globs, likewise: one matches the job's target
    JsonValue start_time;  ///< not before
    JsonValue end_time;    ///< not after
  };

  /// Errors: invocation, for a time that is none.
  [[nodiscard]] static Result<JobFilter> make(const Arguments& arguments);

  [[nodiscard]] bool passes(const returner::Load& load) const;

 private:
  std::optional<JsonValue> metadata_;
  std::optional<std::vector<std::string>> functions_;
  std::optional<std::vector<std::string>> targets_;
  std::optional<WallTime> start_;
  std::optional<WallTime> end_;
};

}  // namespace rest_fcgi::embedded
