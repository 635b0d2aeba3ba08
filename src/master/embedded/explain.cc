// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>
#include <utility>

#include "master/embedded/minion.h"
#include "master/embedded/modules/native.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"
#include "rest_fcgi/master/embedded/embedded.h"

namespace rest_fcgi::embedded {
namespace {

using auth::Finding;

constexpr std::size_t kShownIds = 3;

std::string shown(std::vector<std::string> names) {
  if (names.size() <= kShownIds) return joined(names);
  const std::size_t more = names.size() - kShownIds;
  names.resize(kShownIds);
  return format("{} and {} more", joined(names), more);
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
  auto selection = select(minions, compound_target(tgt));
  if (!selection) return std::move(selection).error();
  return Asked{true, auth::Form::runner, *std::move(selection)};
}

/// One question with all that its answer depends on. Borrows.
struct Inquiry {
  const Question& question;
  const Asked& asked;
  const auth::Permissions& permissions;
  const RuleTargets& targets;
  const Minions& minions;
  std::span<const std::string> pillar_functions;
};

/// Returns whether the target looks into pillar that the rules hide from them.
bool pillar_is_hidden(const Inquiry& inquiry, const auth::Subject& subject) {
  if (!inquiry.asked.is_local) return false;
  const auto allows = [&](const auth::FunctionCall& call, const auth::TargetsWithin& within) {
    const std::vector<Finding> found = inquiry.permissions.explain_local(subject, call, within);
    return std::any_of(found.begin(), found.end(),
                       [](const Finding& finding) { return finding.kind == Finding::Kind::allows; });
  };
  const auto visible =
      select_visible(inquiry.minions, compound_target(inquiry.question.tgt),
                     pillar_view(inquiry.minions, inquiry.targets, inquiry.pillar_functions, allows));
  return !visible;
}

std::vector<Finding> findings_of(const Inquiry& inquiry, const auth::Subject& subject) {
  const auth::FunctionCall call{inquiry.question.fun, {}};
  const Asked& asked = inquiry.asked;
  if (!asked.is_local) return inquiry.permissions.explain_master(subject, asked.form, call);
  return inquiry.permissions.explain_local(subject, call, [&inquiry](std::string_view compound) {
    return inquiry.targets.hold(compound, inquiry.minions, inquiry.asked.selection);
  });
}

std::string judgement_of(const Inquiry& inquiry, const Finding& finding) {
  if (finding.kind == Finding::Kind::allows) return "allows it";
  if (finding.kind == Finding::Kind::other_arguments) {
    return "allows it with arguments that fit its conditions alone";
  }
  const std::string& tgt = inquiry.question.tgt;
  const Selection& selection = inquiry.asked.selection;
  if (selection.positions.empty()) return format("does not allow it: no minion matches '{}'", tgt);
  const auto outside = inquiry.targets.outside(finding.scope, inquiry.minions, selection);
  return format("does not allow it: '{}' reaches {}, which its target does not", tgt, shown(outside));
}

/// Adds what the rules of one back end say.
void explain_eauth(const Inquiry& inquiry, const std::string& eauth, bool is_on, Explanation& explanation) {
  const auto line = [&explanation](std::string_view text) { (explanation.text += text) += '\n'; };
  const std::string& user = inquiry.question.user;
  const std::vector<std::string> groups = eauth == "pam" ? group_names_of(user) : std::vector<std::string>();
  line(format("{}: may {} run {} on {}?", eauth, user, inquiry.question.fun, inquiry.question.tgt));
  if (!groups.empty()) line(format("  groups of {}: {}", user, joined(groups)));
  const std::vector<Finding> findings = findings_of(inquiry, {eauth, user, groups});
  bool found = false;
  for (const Finding& finding : findings) {
    std::string rule(finding.principal);
    for (const auto& part : {finding.scope, finding.pattern}) {
      if (!part.empty()) (rule += ": ") += part;
    }
    line(format("  {}: {}: {}", finding.where, rule, judgement_of(inquiry, finding)));
    found = found || finding.kind == Finding::Kind::allows;
  }
  if (findings.empty()) line("  no line that applies to them names it");
  const bool hidden = pillar_is_hidden(inquiry, {eauth, user, groups});
  if (hidden)
    line("  but the target looks into pillar: no rule allows a function of `pillar` on its minions");
  if (!is_on) line("  but this back end is off: nobody can log in through it");
  const bool allowed = is_on && found && !hidden;
  line(allowed ? "  allowed" : "  refused");
  explanation.allowed = explanation.allowed || allowed;
}

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
  Explanation explanation;
  const std::vector<std::string> pillar_functions = native_names("pillar");
  for (const auth::EauthOptions& eauth : auth.external_auth) {
    const bool is_on = std::find(on.begin(), on.end(), eauth.name) != on.end();
    explain_eauth({question, *asked, **permissions, *targets, **minions, pillar_functions}, eauth.name, is_on,
                  explanation);
  }
  if (explanation.text.empty()) explanation.text = "external_auth names no back end: nobody can log in\n";
  return explanation;
}

}  // namespace rest_fcgi::embedded
