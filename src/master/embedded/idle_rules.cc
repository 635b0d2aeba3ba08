// SPDX-License-Identifier: MIT
#include "master/embedded/idle_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kRunnerForms[] = {"@runner", "@runners"};
constexpr std::string_view kWheelForms[] = {"@wheel", "@wheels"};

template <class Texts>
bool is_among(std::string_view text, const Texts& texts) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

void add_names(MasterFunctions functions, Names& names) {
  for (const MasterFunction& function : functions) names.emplace_back(function.name());
}

/// Looks for parts of rules that match nothing, with one configuration's minions and functions. Borrows.
class IdleRules {
 public:
  explicit IdleRules(const MasterFacts& facts) : facts_(facts), functions_(facts.modules->names()) {
    add_names(jobs_runners(), runners_);
    add_names(other_runners(), runners_);
    add_names(wheels(), wheels_);
    for (const Minion& minion : facts.minions->all()) ids_.push_back(minion.id);
  }

  void look_at(const std::string& owner, const auth::Rule& rule) {
    if (!rule.scope.starts_with('@')) return look_at_minions(owner, rule);
    if (rule.scope == "@events") return;
    const Names names = names_in(rule.scope);
    if (names.empty()) {
      return add(rule.where, owner, rule.scope, "this engine has no runner and no wheel of this name", {});
    }
    for (const auth::FunctionRule& function : rule.functions) {
      look_at_function(owner, function, names, "no runner or wheel of this engine has such a name");
    }
  }

  [[nodiscard]] std::vector<IdlePart> take() { return std::move(parts_); }

 private:
  void look_at_minions(const std::string& owner, const auth::Rule& rule) {
    if (!rule.scope.empty() && !is_for_a_minion(rule.scope)) {
      add(rule.where, owner, rule.scope, "the target matches none of the minions here", ids_);
    }
    if (!functions_) return;
    for (const auth::FunctionRule& function : rule.functions) {
      if (facts_.modules->is_broken(function.pattern.substr(0, function.pattern.find('.')))) continue;
      look_at_function(owner, function, *functions_, "no function of this engine has such a name");
    }
  }

  void look_at_function(const std::string& owner, const auth::FunctionRule& function, const Names& names,
                        std::string_view what) {
    if (auth::matches_any(function.pattern, names)) return;
    Names meant = names;
    std::set<std::string, std::less<>> modules;
    for (const std::string& name : names) modules.insert(name.substr(0, name.find('.')));
    for (const std::string& module : modules) meant.push_back(module + ".*");
    add(function.where, owner, function.pattern, what, std::move(meant));
  }

  [[nodiscard]] bool is_for_a_minion(std::string_view compound) const {
    const auto matcher = TargetMatcher::compile(compound_target(compound), facts_.minions->nodegroups());
    const auto& all = facts_.minions->all();
    return !matcher || std::any_of(all.begin(), all.end(),
                                   [&](const Minion& minion) { return matcher->matches(minion); });
  }

  /// The functions that rules of this scope name: of a module without the module.
  [[nodiscard]] Names names_in(std::string_view scope) const {
    if (is_among(scope, kRunnerForms)) return runners_;
    if (is_among(scope, kWheelForms)) return wheels_;
    const std::string beginning = format("{}.", scope.substr(1));
    Names names;
    for (const Names* all : {&runners_, &wheels_}) {
      for (const std::string& name : *all) {
        if (name.starts_with(beginning)) names.push_back(name.substr(beginning.size()));
      }
    }
    return names;
  }

  void add(const std::string& where, const std::string& owner, const std::string& text, std::string_view what,
           Names names) {
    parts_.push_back({format("{}: {}", where, owner), text, std::string(what), std::move(names)});
  }

  const MasterFacts& facts_;
  const std::optional<Names> functions_;
  Names runners_;
  Names wheels_;
  Names ids_;
  std::vector<IdlePart> parts_;
};

}  // namespace

std::vector<IdlePart> find_idle_parts(const MasterFacts& facts,
                                      const std::vector<auth::EauthOptions>& external_auth) {
  IdleRules rules(facts);
  for (const auth::EauthOptions& eauth : external_auth) {
    for (const auth::Principal& principal : eauth.principals) {
      const std::string owner = format("external_auth: {}: {}", eauth.name, principal.name);
      for (const auth::Rule& rule : principal.rules) rules.look_at(owner, rule);
    }
  }
  return rules.take();
}

}  // namespace rest_fcgi::embedded
