// SPDX-License-Identifier: MIT
#include "master/embedded/rules.h"

#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

Result<RuleTargets> RuleTargets::make(const std::vector<auth::RuleTarget>& targets, const Minions& minions) {
  RuleTargets result;
  for (const auth::RuleTarget& target : targets) {
    if (result.matchers_.find(target.compound) != result.matchers_.end()) continue;
    auto matcher = TargetMatcher::compile_compound(target.compound, minions.nodegroups());
    if (!matcher) {
      const std::string place = target.where.empty() ? std::string() : format("{}: ", target.where);
      return Error{ErrorKind::configuration, format("{}external_auth: the target '{}': {}", place,
                                                    target.compound, matcher.error().message)};
    }
    result.matchers_.emplace(target.compound, *std::move(matcher));
  }
  return result;
}

std::vector<std::string> RuleTargets::outside(std::string_view compound, const Minions& minions,
                                              const Selection& selection) const {
  const TargetMatcher& matcher = matchers_.find(compound)->second;
  std::vector<std::string> ids;
  for (const std::size_t position : selection.positions) {
    const Minion& minion = minions.all()[position];
    if (!matcher.matches(minion)) ids.push_back(minion.id);
  }
  return ids;
}

}  // namespace rest_fcgi::embedded
