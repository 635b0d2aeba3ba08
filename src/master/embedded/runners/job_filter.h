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
    JsonValue after;       ///< a jid: only later ones
    JsonValue before;      ///< a jid: only earlier ones
  };

  /// Errors: invocation, for a time that is none, and for a jid that is none.
  [[nodiscard]] static Result<JobFilter> make(const Arguments& arguments);

  /// Where in the job cache to look: as narrow as the arguments allow. All that pass lie there, and others.
  /// A function's name without wildcards means jobs of this function alone, not those of several functions.
  [[nodiscard]] returner::JobQuery query() const;

  [[nodiscard]] bool passes(const returner::Load& load) const;

  /// Has it taken longer than a few seconds? Then nothing passes any more, and the caller has to say so:
  /// patterns and what they are compared with both come from callers, who can make that costly.
  [[nodiscard]] bool is_late() const { return system_clock().steady() >= deadline_; }

 private:
  std::optional<JsonValue> metadata_;
  std::optional<std::vector<std::string>> functions_;
  std::optional<std::vector<std::string>> targets_;
  std::optional<WallTime> start_;
  std::optional<WallTime> end_;
  std::string after_;   // a jid, or empty
  std::string before_;  // a jid, or empty
  SteadyTime deadline_;
};

}  // namespace rest_fcgi::embedded
