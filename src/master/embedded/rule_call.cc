// SPDX-License-Identifier: MIT
#include "master/embedded/rule_call.h"

#include "master/embedded/modules/yamlify.h"

namespace rest_fcgi::embedded {

RuleCall::RuleCall(const lowstate::Function& function) : name_(function.name) {
  for (const JsonValue& arg : function.args) {
    const auto keyword = arg.is(JsonValue::Kind::string) ? split_keyword(arg.text()) : std::nullopt;
    if (keyword) {
      add_keyword(keyword->first, keyword->second);
    } else {
      args_.push_back(arg);
    }
  }
  kwargs_.insert(kwargs_.end(), function.kwargs.begin(), function.kwargs.end());
}

void RuleCall::add_keyword(std::string_view name, std::string_view value) {
  auto document = std::make_unique<JsonDocument>();
  // What yamlify_scalar wrote is JSON; should it break a limit, the value is null, which a pattern does not
  // match.
  static_cast<void>(document->parse(yamlify_scalar(value).text()).ok());
  kwargs_.push_back({name, document->root()});
  values_.push_back(std::move(document));
}

}  // namespace rest_fcgi::embedded
