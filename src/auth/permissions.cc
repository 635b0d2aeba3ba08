// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/permissions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "auth/acl_rule.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

using Rules = std::vector<const AclRule*>;

struct CompiledPrincipal {
  std::string name;
  std::string group;  ///< empty where it is a user
  std::vector<AclRule> rules;

  [[nodiscard]] bool is_group() const noexcept { return !group.empty(); }
  [[nodiscard]] bool is_everybody_else() const noexcept { return name == "*"; }
};

/// `group%` without the percent sign, of which Salt takes away as many as there are.
std::string group_of(const std::string& name) {
  return name.ends_with('%') ? name.substr(0, name.find_last_not_of('%') + 1) : std::string();
}

Result<CompiledPrincipal> compile(const Principal& principal) {
  CompiledPrincipal result{principal.name, group_of(principal.name), {}};
  for (const Rule& rule : principal.rules) {
    auto compiled = AclRule::make(rule);
    if (!compiled) return std::move(compiled).error();
    result.rules.push_back(*std::move(compiled));
  }
  return result;
}

void append(const std::vector<AclRule>& rules, Rules& to) {
  for (const AclRule& rule : rules) to.push_back(&rule);
}

bool has_group(const Identity& identity, const std::string& group) {
  const auto& groups = identity.groups();
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

struct Permissions::Compiled {
  struct Section {
    std::string eauth;
    std::vector<CompiledPrincipal> principals;
  };
  std::vector<Section> sections;

  /// The rules that apply to somebody: those of their name and of their groups. Those of `*` only where none
  /// is for their name, whatever their groups are.
  [[nodiscard]] Rules rules_of(const Identity& identity) const {
    Rules rules;
    for (const Section& section : sections) {
      if (section.eauth == identity.eauth()) collect(section, identity, rules);
    }
    return rules;
  }

 private:
  /// A name is compared as it is. Salt takes the user's own name for a pattern here, by which a user `*`
  /// would have everybody's rules.
  static void collect(const Section& section, const Identity& identity, Rules& rules) {
    bool named = false;
    for (const CompiledPrincipal& principal : section.principals) {
      if (principal.is_everybody_else()) continue;
      const bool applies =
          principal.is_group() ? has_group(identity, principal.group) : principal.name == identity.name();
      if (applies) append(principal.rules, rules);
      named = named || (applies && !principal.is_group());
    }
    if (named) return;
    for (const CompiledPrincipal& principal : section.principals) {
      if (principal.is_everybody_else()) append(principal.rules, rules);
    }
  }
};

Permissions::Permissions(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}

Permissions::~Permissions() = default;

Result<std::unique_ptr<Permissions>> Permissions::make(const std::vector<EauthOptions>& external_auth) {
  auto compiled = std::make_unique<Compiled>();
  for (const EauthOptions& eauth : external_auth) {
    Compiled::Section section{eauth.name, {}};
    for (const Principal& principal : eauth.principals) {
      auto one = compile(principal);
      if (!one) {
        return Error{ErrorKind::configuration,
                     format("external_auth: {}: {}: {}", eauth.name, principal.name, one.error().message)};
      }
      section.principals.push_back(*std::move(one));
    }
    compiled->sections.push_back(std::move(section));
  }
  return std::unique_ptr<Permissions>(new Permissions(std::move(compiled)));
}

bool Permissions::allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                              const TargetsWithin& within) const {
  if (calls.size() == 1 && calls[0].name == "saltutil.find_job") return true;
  std::vector<const FunctionCall*> refused;
  for (const FunctionCall& call : calls) refused.push_back(&call);
  for (const AclRule* rule : compiled_->rules_of(identity)) {
    if (!rule->is_for_minions()) continue;
    const auto allowed = std::partition(refused.begin(), refused.end(),
                                        [&](const FunctionCall* call) { return !rule->allows(*call); });
    // The target comes last: to resolve it can mean a look at every minion.
    if (allowed != refused.end() && rule->reaches(within)) refused.erase(allowed, refused.end());
  }
  return !calls.empty() && refused.empty();
}

bool Permissions::allow_master(const Identity& identity, Form form, const FunctionCall& call) const {
  const Rules rules = compiled_->rules_of(identity);
  return std::any_of(rules.begin(), rules.end(),
                     [&](const AclRule* rule) { return rule->allows_master(form, call); });
}

}  // namespace rest_fcgi::auth
