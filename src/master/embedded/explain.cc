// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "master/embedded/minion.h"
#include "master/embedded/rules.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/auth/system_groups.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {
namespace {

using auth::Finding;

constexpr std::size_t kShownIds = 3;

std::string joined(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? format("{} and {} more", text, names.size() - most) : text;
}

/// What a question is about: a form, or a selection of minions.
struct Asked {
  bool is_local = false;
  auth::Form form = auth::Form::runner;
  Selection selection{};
};

Result<Asked> read_target(const std::string& tgt, const Minions& minions) {
  if (tgt == "@runner" || tgt == "@runners") return Asked{false, auth::Form::runner, {}};
  if (tgt == "@wheel" || tgt == "@wheels") return Asked{false, auth::Form::wheel, {}};
  if (tgt.starts_with('@')) {
    return Error{ErrorKind::invocation,
                 format("the target '{}' is none: @runner, @wheel or a compound target is", tgt)};
  }
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.expression = tgt;
  auto selection = select(minions, target);
  if (!selection) return std::move(selection).error();
  return Asked{true, auth::Form::runner, *std::move(selection)};
}

/// Answers one question. Borrows all that it is made of.
class Explainer {
 public:
  Explainer(const Question& question, const Asked& asked, const auth::Permissions& permissions,
            const RuleTargets& targets, const Minions& minions)
      : question_(question), asked_(asked), permissions_(permissions), targets_(targets), minions_(minions) {}

  void add(const std::string& eauth, bool is_on) {
    const std::vector<std::string> groups =
        eauth == "pam" ? auth::system_groups(question_.user) : std::vector<std::string>();
    line(format("{}: may {} run {} on {}?", eauth, question_.user, question_.fun, question_.tgt));
    if (!groups.empty()) line(format("  groups of {}: {}", question_.user, joined(groups, groups.size())));
    const std::vector<Finding> findings = findings_of({eauth, question_.user, groups});
    for (const Finding& finding : findings) {
      line(format("  {}: {}: {}", finding.where, rule_of(finding), judgement_of(finding)));
    }
    const bool found = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.kind == Finding::Kind::allows;
    });
    if (findings.empty()) line("  no line that applies to them names it");
    if (!is_on) line("  but this back end is off: nobody can log in through it");
    const bool allowed = is_on && found;
    line(allowed ? "  allowed" : "  refused");
    explanation_.allowed = explanation_.allowed || allowed;
  }

  [[nodiscard]] Explanation take() {
    if (explanation_.text.empty()) line("external_auth names no back end: nobody can log in");
    return std::move(explanation_);
  }

 private:
  void line(std::string_view text) { (explanation_.text += text) += '\n'; }

  [[nodiscard]] std::vector<Finding> findings_of(const auth::Subject& subject) const {
    const auth::FunctionCall call{question_.fun, {}, {}};
    if (!asked_.is_local) return permissions_.explain_master(subject, asked_.form, call);
    return permissions_.explain_local(subject, call, [this](std::string_view compound) {
      return targets_.hold(compound, minions_, asked_.selection);
    });
  }

  static std::string rule_of(const Finding& finding) {
    std::string text(finding.principal);
    if (!finding.scope.empty()) text += format(": {}", finding.scope);
    if (!finding.pattern.empty()) text += format(": {}", finding.pattern);
    return text;
  }

  [[nodiscard]] std::string judgement_of(const Finding& finding) const {
    switch (finding.kind) {
      case Finding::Kind::allows:
        return "allows it";
      case Finding::Kind::other_arguments:
        return "allows it with arguments that fit its conditions alone";
      case Finding::Kind::other_target:
        break;
    }
    if (asked_.selection.positions.empty()) {
      return format("does not allow it: no minion matches '{}'", question_.tgt);
    }
    const auto outside = targets_.outside(finding.scope, minions_, asked_.selection);
    return format("does not allow it: '{}' reaches {}, which its target does not", question_.tgt,
                  joined(outside, kShownIds));
  }

  const Question& question_;
  const Asked& asked_;
  const auth::Permissions& permissions_;
  const RuleTargets& targets_;
  const Minions& minions_;
  Explanation explanation_;
};

}  // namespace

Result<Explanation> explain(const Options& options, const auth::Options& auth, const Question& question) {
  auto authenticator = auth::Authenticator::make(auth, system_clock());
  if (!authenticator) return std::move(authenticator).error();
  auto permissions = auth::Permissions::make(auth.external_auth);
  if (!permissions) return std::move(permissions).error();
  auto minions = Minions::make(options.minions, options.nodegroups);
  if (!minions) return std::move(minions).error();
  const auto targets = RuleTargets::make((*permissions)->targets(), **minions);
  if (!targets) return targets.error();
  const auto asked = read_target(question.tgt, **minions);
  if (!asked) return asked.error();
  const std::vector<std::string> on = (*authenticator)->eauths();
  Explainer explainer(question, *asked, **permissions, *targets, **minions);
  for (const auth::EauthOptions& eauth : auth.external_auth) {
    explainer.add(eauth.name, std::find(on.begin(), on.end(), eauth.name) != on.end());
  }
  return explainer.take();
}

}  // namespace rest_fcgi::embedded
