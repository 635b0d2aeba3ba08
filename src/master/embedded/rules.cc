// SPDX-License-Identifier: MIT
#include "master/embedded/rules.h"

#include <algorithm>
#include <utility>

#include "master/embedded/json_text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::embedded {

RuleCall::RuleCall(const lowstate::Function& function) : name_(function.name) {
  const Json values = written_json([&](JsonWriter& writer) {
    writer.begin_array();
    for (const JsonValue& arg : function.args) {
      const auto keyword = lowstate::split_keyword(arg.is(JsonValue::Kind::string) ? arg.text() : "");
      if (!keyword) {
        args_.push_back(arg);
        continue;
      }
      kwargs_.push_back({keyword->first, JsonValue()});
      writer.json(lowstate::yamlify_scalar(keyword->second));
    }
    writer.end_array();
  });
  values_ = std::make_unique<JsonDocument>(own_document(values));
  auto keyword = kwargs_.begin();
  for (const JsonValue value : values_->root().elements()) (keyword++)->value = value;
  kwargs_.insert(kwargs_.end(), function.kwargs.begin(), function.kwargs.end());
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
