// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/permissions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "auth/acl.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::auth {

struct CompiledPrincipal {
  std::string name;
  std::string group;
  std::vector<AclRule> rules;
  std::vector<Json> shown;

  [[nodiscard]] bool is_group_of(const Subject& subject) const {
    return !group.empty() &&
           std::find(subject.groups.begin(), subject.groups.end(), group) != subject.groups.end();
  }
};

namespace {

/// Removes all percent signs at the end of a group's name, as Salt does.
std::string group_of(const std::string& name) {
  return name.ends_with('%') ? name.substr(0, name.find_last_not_of('%') + 1) : std::string();
}

void write(JsonWriter& writer, const std::optional<std::string>& pattern) {
  pattern ? writer.string(*pattern) : writer.null();
}

void write(JsonWriter& writer, const ArgumentCondition& condition) {
  writer.begin_object();
  if (!condition.args.empty()) {
    writer.key("args").begin_array();
    for (const auto& arg : condition.args) write(writer, arg);
    writer.end_array();
  }
  if (!condition.kwargs.empty()) {
    writer.key("kwargs").begin_object();
    for (const auto& [key, pattern] : condition.kwargs) write(writer.key(key), pattern);
    writer.end_object();
  }
  if (condition.others) writer.key("others").boolean(true);
  writer.end_object();
}

void write(JsonWriter& writer, const FunctionRule& function) {
  if (function.conditions.empty()) {
    writer.string(function.pattern);
    return;
  }
  writer.begin_object().key(function.pattern).begin_array();
  for (const ArgumentCondition& condition : function.conditions) write(writer, condition);
  writer.end_array().end_object();
}

void write(JsonWriter& writer, const Rule& rule) {
  if (rule.functions.empty()) {
    writer.string(rule.scope);
  } else if (rule.scope.empty()) {
    write(writer, rule.functions.front());
  } else {
    writer.begin_object().key(rule.scope).begin_array();
    for (const FunctionRule& function : rule.functions) write(writer, function);
    writer.end_array().end_object();
  }
}

Result<AclRule> compile(const std::string& eauth, const Principal& principal, const Rule& rule) {
  auto compiled = AclRule::make(rule);
  if (compiled) return compiled;
  const std::string place = rule.where.empty() ? std::string() : format("{}: ", rule.where);
  return Error{ErrorKind::configuration,
               format("{}external_auth: {}: {}: {}", place, eauth, principal.name, compiled.error().message)};
}

Result<CompiledPrincipal> compile(const std::string& eauth, const Principal& principal) {
  CompiledPrincipal result{principal.name, group_of(principal.name), {}, {}};
  for (const Rule& rule : principal.rules) {
    auto compiled = compile(eauth, principal, rule);
    if (!compiled) return std::move(compiled).error();
    result.rules.push_back(*std::move(compiled));
    result.shown.push_back(written_json([&rule](JsonWriter& writer) { write(writer, rule); }));
  }
  return result;
}

/// A user's name as a pattern. When a user logs in, Salt takes the user's name as a pattern for the names in
/// `external_auth`, both as a glob and as a regular expression (`expr_match`).
class LoginPattern {
 public:
  explicit LoginPattern(std::string_view name)
      : name_(name), start_(name.substr(0, name.find_first_of(kSpecial))) {
    if (start_ == name || has_bad_escape(name)) return;
    // Salt puts an anchor at each end of the name. In a name with branches such as `a|b|c`, these anchors
    // apply only to the first and the last branch. `match_all` would anchor all branches, so such a name is
    // not compiled, and `may_match` assumes a match.
    const bool has_branches = name.find('|') != std::string_view::npos;
    auto regex = has_branches ? Error{} : compile_python_regex(name);
    is_certain_ = regex.ok();
    if (regex) regex_ = *std::move(regex);
    if (has_branches) start_ = {};
    // Drops the last character, because a following `*`, for example, can make this character optional.
    if (!start_.empty()) start_.remove_suffix(1);
  }

  [[nodiscard]] bool matches(std::string_view principal) const {
    return glob_match(name_, principal) || (regex_ && regex_->match_all(principal));
  }
  /// Returns true if the pattern matches `principal` in Salt, or if this is uncertain.
  [[nodiscard]] bool may_match(std::string_view principal) const {
    return matches(principal) || (!is_certain_ && principal.starts_with(start_));
  }

 private:
  static constexpr std::string_view kSpecial = ".\\^$+|(){}*?[]";

  /// Returns whether Python's `re` refuses an escape in the name, as in `DOMAIN\eve`.
  static bool has_bad_escape(std::string_view name) {
    constexpr std::string_view kBad = "cegijklmopqyzhCEFGHIJKLMOPQRTVXY";
    for (std::size_t at = 0; at + 1 < name.size(); ++at) {
      if (name[at] == '\\' && kBad.find(name[++at]) != std::string_view::npos) return true;
    }
    return false;
  }

  std::string_view name_;
  std::string_view start_;  ///< Every match of the pattern begins with this text.
  bool is_certain_ = true;
  std::optional<Regex> regex_{};
};

struct Applying {
  const CompiledPrincipal* principal;
  const AclRule* rule;
};
using Rules = std::vector<Applying>;

void append(const CompiledPrincipal& principal, Rules& to) {
  for (const AclRule& rule : principal.rules) to.push_back({&principal, &rule});
}

Subject subject_of(const Identity& identity) {
  return {identity.eauth(), identity.name(), identity.groups()};
}

Finding finding(Finding::Kind kind, const Applying& one, const RuleMatch& match) {
  return {kind, one.principal->name, one.rule->scope(), match.pattern, match.where};
}

}  // namespace

std::vector<std::string> drop_bad_rules(std::vector<EauthOptions>& external_auth) {
  std::vector<std::string> dropped;
  for (EauthOptions& eauth : external_auth) {
    for (Principal& principal : eauth.principals) {
      std::erase_if(principal.rules, [&](const Rule& rule) {
        const auto compiled = compile(eauth.name, principal, rule);
        if (!compiled) dropped.push_back(compiled.error().message);
        return !compiled;
      });
    }
  }
  return dropped;
}

struct Permissions::Compiled {
  struct Section {
    std::string eauth;
    std::vector<CompiledPrincipal> principals;
  };
  std::vector<Section> sections;

  /// As in Salt, the user's name is also a pattern. A user's entry applies only if its name is equal to the
  /// user's name and matches this pattern. For example, `a[1]` does not match itself. The rules of `*` apply
  /// only if no entry matches the pattern.
  [[nodiscard]] Rules rules_of(const Subject& subject) const {
    Rules rules;
    const LoginPattern login(subject.name);
    for (const Section& section : sections) {
      if (section.eauth != subject.eauth) continue;
      bool is_named = false;
      for (const CompiledPrincipal& principal : section.principals) {
        if (principal.name == "*") continue;
        if (!principal.group.empty()) {
          if (principal.is_group_of(subject)) append(principal, rules);
          continue;
        }
        if (principal.name == subject.name && login.matches(principal.name)) append(principal, rules);
        is_named = is_named || login.may_match(principal.name);
      }
      for (const CompiledPrincipal& principal : section.principals) {
        if (principal.name == "*" && !is_named) append(principal, rules);
      }
    }
    return rules;
  }
};

bool matches_any(std::string_view pattern, std::span<const std::string> names) {
  const auto compiled = AclPattern::make(pattern);
  return compiled && std::any_of(names.begin(), names.end(),
                                 [&](const std::string& name) { return compiled->matches(name); });
}

Permissions::Permissions(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}

Permissions::~Permissions() = default;

Result<std::unique_ptr<Permissions>> Permissions::make(const std::vector<EauthOptions>& external_auth) {
  auto compiled = std::make_unique<Compiled>();
  for (const EauthOptions& eauth : external_auth) {
    Compiled::Section section{eauth.name, {}};
    for (const Principal& principal : eauth.principals) {
      auto one = compile(eauth.name, principal);
      if (!one) return std::move(one).error();
      section.principals.push_back(*std::move(one));
    }
    compiled->sections.push_back(std::move(section));
  }
  return std::unique_ptr<Permissions>(new Permissions(std::move(compiled)));
}

bool Permissions::allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                              const TargetsWithin& within) const {
  std::vector<const FunctionCall*> refused;
  for (const FunctionCall& call : calls) refused.push_back(&call);
  for (const Applying& one : compiled_->rules_of(subject_of(identity))) {
    if (!one.rule->is_for_minions()) continue;
    const auto allowed = std::partition(refused.begin(), refused.end(), [&one](const FunctionCall* call) {
      return one.rule->match(*call).kind != RuleMatch::Kind::yes;
    });
    // Compares the target last, because the comparison may have to look at every minion.
    if (allowed != refused.end() && one.rule->reaches(within)) refused.erase(allowed, refused.end());
  }
  return !calls.empty() && refused.empty();
}

bool Permissions::allow_master(const Identity& identity, Form form, const FunctionCall& call) const {
  const auto findings = explain_master(subject_of(identity), form, call);
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& one) { return one.kind == Finding::Kind::allows; });
}

std::vector<Finding> Permissions::explain_local(const Subject& subject, const FunctionCall& call,
                                                const TargetsWithin& within) const {
  std::vector<Finding> findings;
  for (const Applying& one : compiled_->rules_of(subject)) {
    const RuleMatch match = one.rule->is_for_minions() ? one.rule->match(call) : RuleMatch();
    if (match.kind == RuleMatch::Kind::none) continue;
    Finding::Kind kind = Finding::Kind::other_arguments;
    if (match.kind == RuleMatch::Kind::yes) {
      kind = one.rule->reaches(within) ? Finding::Kind::allows : Finding::Kind::other_target;
    }
    findings.push_back(finding(kind, one, match));
  }
  return findings;
}

std::vector<Finding> Permissions::explain_master(const Subject& subject, Form form,
                                                 const FunctionCall& call) const {
  std::vector<Finding> findings;
  for (const Applying& one : compiled_->rules_of(subject)) {
    const RuleMatch match = one.rule->match_master(form, call);
    if (match.kind == RuleMatch::Kind::none) continue;
    const bool yes = match.kind == RuleMatch::Kind::yes;
    findings.push_back(finding(yes ? Finding::Kind::allows : Finding::Kind::other_arguments, one, match));
  }
  return findings;
}

EventScope Permissions::event_scope(const Subject& subject) const {
  const Rules rules = compiled_->rules_of(subject);
  const auto some_rule = [&rules](std::string_view scope, bool about_all) {
    return std::any_of(rules.begin(), rules.end(), [&](const Applying& one) {
      return one.rule->scope() == scope && (!about_all || one.rule->allows_all());
    });
  };
  const bool runs_all = some_rule("", true) && (some_rule("@runner", true) || some_rule("@runners", true));
  if (runs_all || some_rule("@events", false)) return EventScope::all;
  return rules.empty() ? EventScope::nothing : EventScope::own;
}

bool Permissions::can_read_metrics(const Subject& subject) const {
  const Rules rules = compiled_->rules_of(subject);
  return std::any_of(rules.begin(), rules.end(),
                     [](const Applying& one) { return one.rule->scope() == "@metrics"; });
}

Json Permissions::shown(const Subject& subject) const {
  if (compiled_->rules_of(subject).empty()) return Json::empty_object();
  std::vector<std::string_view> entries;
  for (const Compiled::Section& section : compiled_->sections) {
    if (section.eauth != subject.eauth) continue;
    for (const CompiledPrincipal& principal : section.principals) {
      if (principal.name != subject.name && principal.name != "*" && !principal.is_group_of(subject))
        continue;
      for (const Json& entry : principal.shown) entries.push_back(entry.text());
    }
  }
  if (entries.empty()) return Json::empty_object();
  // The order of JSON texts puts strings before maps, because a quotation mark sorts before a brace.
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return written_array([&entries](JsonWriter& writer) {
    for (const std::string_view entry : entries) writer.raw(entry);
  });
}

std::vector<RuleTarget> Permissions::targets() const {
  std::vector<RuleTarget> targets;
  for (const Compiled::Section& section : compiled_->sections) {
    for (const CompiledPrincipal& principal : section.principals) {
      for (const AclRule& rule : principal.rules) {
        if (rule.is_for_minions() && !rule.scope().empty()) {
          targets.push_back({rule.scope(), rule.where(), section.eauth, principal.name});
        }
      }
    }
  }
  return targets;
}

}  // namespace rest_fcgi::auth
