// SPDX-License-Identifier: MIT
#include "master/embedded/rule_reports.h"

#include <algorithm>
#include <set>

#include "master/embedded/modules/native.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::embedded {
namespace {

using Names = std::vector<std::string>;

void add_names(MasterFunctions functions, Names& names) {
  for (const MasterFunction& function : functions) names.emplace_back(function.name());
}

class Search {
 public:
  explicit Search(const MasterData& data) : data_(data), functions_(data.modules->names()) {
    add_names(jobs_runners(), runners_);
    add_names(other_runners(), runners_);
    add_names(wheels(), wheels_);
    for (const Minion& minion : data.minions->all()) ids_.push_back(minion.id);
  }

  void check(const std::string& owner, const auth::Rule& rule) {
    if (!rule.scope.starts_with('@')) return check_minion_rule(owner, rule);
    if (rule.scope == "@events" || rule.scope == "@metrics") return;
    const Names names = names_in(rule.scope);
    if (names.empty())
      return add(rule.where, owner, rule.scope, "no runner or wheel module has this name", {});
    for (const auth::FunctionRule& function : rule.functions) {
      check_function(owner, function, names, "no runner or wheel has such a name");
    }
  }

  [[nodiscard]] std::vector<UnmatchedRulePart> take() { return std::move(parts_); }

 private:
  void check_minion_rule(const std::string& owner, const auth::Rule& rule) {
    if (!rule.scope.empty() && !matches_a_minion(rule.scope)) {
      add(rule.where, owner, rule.scope, "the target matches no minion", ids_);
    }
    if (!functions_) return;
    for (const auth::FunctionRule& function : rule.functions) {
      if (data_.modules->is_broken(function.pattern.substr(0, function.pattern.find('.')))) continue;
      check_function(owner, function, *functions_, "no function has such a name");
    }
  }

  void check_function(const std::string& owner, const auth::FunctionRule& function, const Names& names,
                      std::string_view what) {
    if (auth::matches_any(function.pattern, names)) return;
    Names similar = names;
    std::set<std::string> modules;
    for (const std::string& name : names) modules.insert(name.substr(0, name.find('.')));
    for (const std::string& module : modules) similar.push_back(module + ".*");
    add(function.where, owner, function.pattern, what, std::move(similar));
  }

  [[nodiscard]] bool matches_a_minion(std::string_view compound) const {
    const auto matcher = TargetMatcher::compile(compound_target(compound), data_.minions->nodegroups());
    const auto& all = data_.minions->all();
    return !matcher || std::any_of(all.begin(), all.end(),
                                   [&](const Minion& minion) { return matcher->matches(minion); });
  }

  /// Returns the names that a rule of `scope` may use for functions. For the scope `@runner` or `@wheel`, the
  /// names have the form `MODULE.FUNCTION`. For the scope `@MODULE`, the names have the form `FUNCTION`.
  [[nodiscard]] Names names_in(std::string_view scope) const {
    if (scope == "@runner" || scope == "@runners") return runners_;
    if (scope == "@wheel" || scope == "@wheels") return wheels_;
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

  const MasterData& data_;
  const std::optional<Names> functions_;
  Names runners_;
  Names wheels_;
  Names ids_;
  std::vector<UnmatchedRulePart> parts_;
};

using auth::Finding;

struct QuestionTarget {
  bool is_local = false;
  auth::Form form = auth::Form::runner;
  Selection selection{};
};

Result<QuestionTarget> read_target(const std::string& tgt, const Minions& minions) {
  if (tgt == "@runner" || tgt == "@runners") return QuestionTarget{false, auth::Form::runner, {}};
  if (tgt == "@wheel" || tgt == "@wheels") return QuestionTarget{false, auth::Form::wheel, {}};
  if (tgt.starts_with('@')) {
    return Error{ErrorKind::invocation,
                 format("target: found '{}', expected @runner, @wheel or a compound target", tgt)};
  }
  target::Work work;
  auto selection = select(minions, compound_target(tgt), work);
  if (!selection) return std::move(selection).error();
  return QuestionTarget{true, auth::Form::runner, *std::move(selection)};
}

struct Explainer {
  const Question& question;
  const QuestionTarget& target;
  const auth::Permissions& permissions;
  const RuleTargets& rule_targets;
  const Minions& minions;
  const std::vector<std::string> pillar_functions = native_names("pillar");

  void explain(const std::string& eauth, bool is_on, Explanation& explanation) const {
    const auto line = [&explanation](std::string_view text) { (explanation.text += text) += '\n'; };
    const std::string& user = question.user;
    const std::vector<std::string> groups =
        eauth == "pam" ? group_names_of(user) : std::vector<std::string>();
    line(format("{}: may {} run {} on {}?", eauth, user, question.fun, question.tgt));
    if (!groups.empty()) line(format("  groups of {}: {}", user, joined(groups)));
    const std::vector<Finding> findings = find({eauth, user, groups});
    bool is_allowed = false;
    for (const Finding& finding : findings) {
      std::string rule(finding.principal);
      for (const auto& part : {finding.scope, finding.pattern}) {
        if (!part.empty()) (rule += ": ") += part;
      }
      line(format("  {}: {}: {}", finding.where, rule, verdict(finding)));
      is_allowed = is_allowed || finding.kind == Finding::Kind::allows;
    }
    if (findings.empty()) line("  no rule for this user names the function");
    const bool is_hidden = pillar_is_hidden({eauth, user, groups});
    if (is_hidden)
      line("  the target compares pillar data, but no rule allows a function of `pillar` on its minions");
    if (!is_on) line("  this back end is off: no user can log in through it");
    is_allowed = is_allowed && is_on && !is_hidden;
    line(is_allowed ? "  allowed" : "  refused");
    explanation.allowed = explanation.allowed || is_allowed;
  }

  [[nodiscard]] std::vector<Finding> find(const auth::Subject& subject) const {
    const auth::FunctionCall call{question.fun, {}};
    if (!target.is_local) return permissions.explain_master(subject, target.form, call);
    return permissions.explain_local(subject, call, [this](std::string_view compound) {
      return rule_targets.match_all(compound, minions, target.selection);
    });
  }

  [[nodiscard]] std::string verdict(const Finding& finding) const {
    if (finding.kind == Finding::Kind::allows) return "allows it";
    if (finding.kind == Finding::Kind::other_arguments) return "allows it only with certain arguments";
    const std::string& tgt = question.tgt;
    if (target.selection.positions.empty()) return format("does not allow it: no minion matches '{}'", tgt);
    constexpr std::size_t kShown = 3;
    auto outside = rule_targets.minions_outside(finding.scope, minions, target.selection);
    std::string more;
    if (outside.size() > kShown) {
      more = format(" and {} more", outside.size() - kShown);
      outside.resize(kShown);
    }
    return format("does not allow it: '{}' also matches {}{}", tgt, joined(outside), more);
  }

  [[nodiscard]] bool pillar_is_hidden(const auth::Subject& subject) const {
    if (!target.is_local) return false;
    const auto allows = [&](const auth::FunctionCall& call, const auth::TargetsWithin& within) {
      const std::vector<Finding> found = permissions.explain_local(subject, call, within);
      return std::any_of(found.begin(), found.end(),
                         [](const Finding& finding) { return finding.kind == Finding::Kind::allows; });
    };
    target::Work work;
    return !select_visible(minions, compound_target(question.tgt),
                           make_pillar_check(minions, rule_targets, pillar_functions, allows), work);
  }
};

}  // namespace

std::vector<UnmatchedRulePart> find_unmatched(const MasterData& data,
                                              const std::vector<auth::EauthOptions>& external_auth) {
  Search search(data);
  for (const auth::EauthOptions& eauth : external_auth) {
    for (const auth::Principal& principal : eauth.principals) {
      const std::string owner = format("external_auth: {}: {}", eauth.name, principal.name);
      for (const auth::Rule& rule : principal.rules) search.check(owner, rule);
    }
  }
  return search.take();
}

Result<Explanation> explain(const Options& options, const auth::Options& auth, const Question& question) {
  auto authenticator = auth::Authenticator::make(auth, system_clock());
  if (!authenticator) return std::move(authenticator).error();
  auto permissions = auth::Permissions::make(auth.external_auth);
  if (!permissions) return std::move(permissions).error();
  auto minions = Minions::make(options.minions, options.nodegroups);
  if (!minions) return std::move(minions).error();
  const auto rule_targets = RuleTargets::make((*permissions)->targets(), **minions);
  if (!rule_targets) return rule_targets.error();
  const auto target = read_target(question.tgt, **minions);
  if (!target) return target.error();
  const std::vector<std::string> on = (*authenticator)->eauths();
  const Explainer explainer{question, *target, **permissions, *rule_targets, **minions};
  Explanation explanation;
  for (const auth::EauthOptions& eauth : auth.external_auth) {
    if (!question.eauth.empty() && eauth.name != question.eauth) continue;
    explainer.explain(eauth.name, std::find(on.begin(), on.end(), eauth.name) != on.end(), explanation);
  }
  if (explanation.text.empty()) {
    const std::string name = question.eauth.empty() ? "" : " " + question.eauth;
    explanation.text = format("external_auth has no back end{}: no user can log in\n", name);
  }
  return explanation;
}

}  // namespace rest_fcgi::embedded
