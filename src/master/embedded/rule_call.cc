// SPDX-License-Identifier: MIT
#include "master/embedded/rule_call.h"

#include "rest_fcgi/lowstate/yamlify.h"

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
  if (!values_->parse(values, JsonLimits::none())) return;
  auto keyword = kwargs_.begin();
  for (const JsonValue value : values_->root().elements()) (keyword++)->value = value;
}

}  // namespace rest_fcgi::embedded
