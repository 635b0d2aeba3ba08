// SPDX-License-Identifier: MIT
#include "master/embedded/rules.h"

#include <algorithm>
#include <utility>

#include "master/embedded/json_text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::embedded {

RuleCall::RuleCall(const lowstate::Function& function) : name_(function.name) {
  std::string values;
  JsonWriter writer(values);
  writer.begin_array();
  for (const JsonValue& arg : function.args) {
    const auto keyword = arg.is(JsonValue::Kind::string) ? lowstate::split_keyword(arg.text()) : std::nullopt;
    if (keyword) {
      kwargs_.push_back({keyword->first, JsonValue()});
      writer.json(lowstate::yamlify_scalar(keyword->second));
    } else {
      args_.push_back(arg);
    }
  }
  writer.end_array();
  if (!kwargs_.empty()) take_values(values);
  kwargs_.insert(kwargs_.end(), function.kwargs.begin(), function.kwargs.end());
}

void RuleCall::take_values(const std::string& values) {
  // What yamlify_scalar wrote is JSON. Were it not, the values would stay null, which no pattern matches.
  values_ = std::make_unique<JsonDocument>();
  if (!read_own(*values_, values)) return;
  auto keyword = kwargs_.begin();
  for (const JsonValue value : values_->root().elements()) (keyword++)->value = value;
}

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

bool RuleTargets::hold(std::string_view compound, const Minions& minions, const Selection& selection) const {
  const TargetMatcher& matcher = matchers_.find(compound)->second;
  return !selection.positions.empty() &&
         std::all_of(selection.positions.begin(), selection.positions.end(),
                     [&](std::size_t position) { return matcher.matches(minions.all()[position]); });
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
