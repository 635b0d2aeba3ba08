// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

/// What the rules of `external_auth` are compared with: calls as functions get them, and minions.
namespace rest_fcgi::embedded {

/// An execution function's arguments as they will be bound, for the rules of `external_auth` to look at: a
/// text `name=value` among the positional arguments is a keyword argument here as it is for the function.
/// Otherwise it would move the arguments behind it to places where no rule looks for them. Borrows the
/// function.
class RuleCall {
 public:
  explicit RuleCall(const lowstate::Function& function);

  /// Valid as long as this is.
  [[nodiscard]] auth::FunctionCall call() const noexcept { return {name_, args_, kwargs_}; }

 private:
  std::string_view name_;
  std::vector<JsonValue> args_;
  std::vector<JsonMember> kwargs_;
  std::unique_ptr<JsonDocument> values_;  ///< of texts `name=value`
};

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
