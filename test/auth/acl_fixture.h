// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "auth/tokens.h"
#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::auth {

/// Returns a rule that applies to every minion. In `external_auth`, a plain string is a rule of this kind.
inline Rule anywhere(std::string pattern) {
  return {"", {{std::move(pattern), {}}}};
}

inline Rule on(std::string scope, std::vector<FunctionRule> functions = {}) {
  return {std::move(scope), std::move(functions)};
}

/// Function calls, parsed from JSON. The text is one call or a list of calls. A call is a function name, or
/// an object such as {"fun": "cmd.run", "arg": ["ls"]}.
class Calls {
 public:
  explicit Calls(std::string_view json) {
    REQUIRE(document_.parse(json));
    const JsonValue root = document_.root();
    if (!root.is(JsonValue::Kind::array)) add(root);
    for (const JsonValue call : root.elements()) add(call);
  }

  [[nodiscard]] std::vector<FunctionCall> all() const {
    std::vector<FunctionCall> calls;
    for (const One& one : calls_) calls.push_back({one.name, {one.args, one.kwargs}});
    return calls;
  }

 private:
  struct One {
    std::string_view name;
    std::vector<JsonValue> args;
    std::vector<JsonMember> kwargs;
  };

  void add(JsonValue call) {
    One one;
    one.name = call.find("fun").value_or(call).text();
    const JsonValue args = call.find("arg").value_or(JsonValue());
    const JsonValue kwargs = call.find("kwarg").value_or(JsonValue());
    for (const JsonValue arg : args.elements()) one.args.push_back(arg);
    for (const JsonMember member : kwargs.members()) one.kwargs.push_back(member);
    calls_.push_back(std::move(one));
  }

  JsonDocument document_;
  std::vector<One> calls_;
};

/// Permissions that a test checks. Users log in with the eauth `auto`, with any name and any groups. Not
/// synchronized.
class AclFixture {
 public:
  using Names = std::vector<std::string>;

  explicit AclFixture(std::vector<Principal> principals)
      : AclFixture({{"auto", {}, std::move(principals)}}, 0) {}

  static AclFixture of_fred(std::vector<Rule> rules) { return AclFixture({{"fred", std::move(rules)}}); }

  static AclFixture of_eauths(std::vector<EauthOptions> external_auth) {
    return {std::move(external_auth), 0};
  }

  /// Returns whether the user may run all `calls` on all `minions`. The scope of a rule is a glob in this
  /// test.
  [[nodiscard]] bool local(std::string_view calls, const Names& minions = {"web1"},
                           const std::string& user = "fred", const Names& groups = {}) const {
    const auto within = [&](std::string_view compound) {
      return !minions.empty() && std::all_of(minions.begin(), minions.end(),
                                             [&](const std::string& id) { return glob_match(compound, id); });
    };
    const Calls parsed(calls);
    return permissions_->allow_local(identity(user, groups), parsed.all(), within);
  }

  [[nodiscard]] bool master(Form form, std::string_view call, const std::string& user = "fred") const {
    const Calls parsed(call);
    return permissions_->allow_master(identity(user, {}), form, parsed.all().at(0));
  }
  [[nodiscard]] bool runner(std::string_view call) const { return master(Form::runner, call); }

 private:
  AclFixture(std::vector<EauthOptions> external_auth, int) {
    auto permissions = Permissions::make(external_auth);
    REQUIRE(permissions);
    permissions_ = *std::move(permissions);
  }

  /// Returns the identity of a user with groups. The user logs in with a token, because the eauth `auto`
  /// takes groups only from tokens.
  [[nodiscard]] static Identity identity(const std::string& user, const Names& groups) {
    Options options;
    options.external_auth.push_back({"auto", {}, {}});
    options.allow_auto_eauth = true;
    const std::shared_ptr<store::Store> store = *store::Store::open({});
    const auto authenticator = Authenticator::make(options, system_clock(), store);
    REQUIRE(authenticator);
    Tokens tokens(tokens_in_store(store, system_clock()), std::chrono::seconds(60), system_clock());
    const auto token = tokens.add(user, "auto", groups);
    REQUIRE(token);
    auto identity =
        (*authenticator)->authenticate({Credentials::Kind::token, {}, {}, {}, *token}, SteadyTime::max());
    REQUIRE(identity);
    return *std::move(identity);
  }

  std::unique_ptr<Permissions> permissions_;
};

}  // namespace rest_fcgi::auth
