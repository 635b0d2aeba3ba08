// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded {

/// The targets of `external_auth`, compiled. Immutable; thread-safe.
class RuleTargets {
 public:
  /// `minions`, and the Permissions that `targets` come from, have to outlive it. Errors: configuration, for
  /// a text that is no target, with its place.
  [[nodiscard]] static Result<RuleTargets> make(const std::vector<auth::RuleTarget>& targets,
                                                const Minions& minions);

  /// Does the target hold every one of the selected minions? Not where none is selected.
  /// REQUIRES: it was among those that this was made of.
  [[nodiscard]] bool hold(std::string_view compound, const Minions& minions,
                          const Selection& selection) const {
    return !selection.positions.empty() && outside(compound, minions, selection).empty();
  }

  /// The ids of those that it does not hold. REQUIRES: as `hold`.
  [[nodiscard]] std::vector<std::string> outside(std::string_view compound, const Minions& minions,
                                                 const Selection& selection) const;

 private:
  std::map<std::string_view, TargetMatcher> matchers_;
};

}  // namespace rest_fcgi::embedded
