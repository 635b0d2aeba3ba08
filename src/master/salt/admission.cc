// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>
#include <utility>

#include "master/salt/salt_master.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/lowstate/master_arguments.h"

/// The checks that this program makes before it sends a call to the master. The master makes all other
/// checks.
namespace rest_fcgi::salt {
namespace {

using lowstate::Target;
using lowstate::TargetType;
using master::Permit;

bool is_within(const Target& target, std::string_view rule) {
  if (rule == "*") return true;
  const bool glob = target.type == TargetType::glob;
  if ((glob || target.type == TargetType::compound) && target.list.empty() && target.expression == rule) {
    return true;
  }
  // A compound rule has several words, brackets, or a prefix such as `G@`. Any other rule is a single glob.
  if (rule.find_first_of(" @()") != std::string_view::npos) return false;
  if (glob) {
    const bool is_plain_id = target.expression.find_first_of("*?[]") == std::string_view::npos;
    return is_plain_id && glob_match(rule, target.expression);
  }
  return target.type == TargetType::list && !target.list.empty() &&
         std::all_of(target.list.begin(), target.list.end(),
                     [rule](std::string_view id) { return glob_match(rule, id); });
}

bool is_allowed(const auth::Permissions& permissions, const auth::Subject& subject,
                const auth::TargetsWithin& within, const lowstate::Function& function) {
  const auto [args, kwargs, derived, refused] = lowstate::sort_arguments(function.args, function.kwargs);
  const auth::FunctionCall call{
      function.name, {function.args, function.kwargs}, auth::CallArguments{args, kwargs}};
  const auto findings = permissions.explain_local(subject, call, within);
  return std::any_of(findings.begin(), findings.end(),
                     [](const auth::Finding& one) { return one.kind == auth::Finding::Kind::allows; });
}

bool allows_each(const auth::Permissions& permissions, const auth::Subject& subject,
                 const lowstate::LocalCall& call) {
  const auth::TargetsWithin within = [&](std::string_view rule) { return is_within(call.target, rule); };
  return std::all_of(call.functions.begin(), call.functions.end(), [&](const lowstate::Function& function) {
    return is_allowed(permissions, subject, within, function);
  });
}

/// What `SaltMaster::is_surely_allowed` returns for a chunk.
struct Allowed final : master::Admitted {
  bool is_surely_allowed = false;
};

/// Returns whether the checks of a chunk use the configuration, such as nodegroups. The errors of these
/// checks reveal configuration, so `admit` checks the login first.
bool needs_lookup(const lowstate::Chunk& chunk) {
  if (chunk.client == lowstate::Client::ssh) return true;
  if (!chunk.is_local()) return false;
  const lowstate::LocalCall& call = chunk.local();
  return !call.jid.empty() || call.functions.size() > 1 || Nodegroups::may_name_one(call.target);
}

Result<void> refused_as(const auth::Subject& subject, Result<void> checked) {
  if (checked) return checked;
  Error refused = std::move(checked).error();
  refused.user = subject.name;
  refused.eauth = subject.eauth;
  return refused;
}

}  // namespace

Result<void> check_each_function(const auth::Permissions& permissions, const auth::Subject& subject,
                                 const lowstate::LocalCall& call) {
  if (call.functions.size() < 2 || allows_each(permissions, subject, call)) return {};
  return Error{ErrorKind::authorization, "Authorization error occurred."};
}

Result<void> check_on_roster(const auth::Permissions& permissions, const auth::Subject& subject,
                             const lowstate::LocalCall& call) {
  const auth::TargetsWithin none = [](std::string_view) { return false; };
  if (is_allowed(permissions, subject, none, call.functions.front())) return {};
  return Error{ErrorKind::authorization, "Authorization error occurred."};
}

std::unique_ptr<auth::Permissions> permissions_of_token(const auth::Grant& grant) {
  if (!grant.auth_list || is_token_without_permissions(grant)) return nullptr;
  return auth::permissions_in_token(grant.eauth, *grant.auth_list);
}

Result<void> check_wheel_arguments(const lowstate::MasterCall& call) {
  for (const JsonMember& argument : call.function.kwargs) {
    if (argument.key != "arg" && argument.key != "kwarg") continue;
    return Error{ErrorKind::invocation,
                 format("A wheel does not accept a keyword argument with the name '{}': the Salt Master "
                        "would check this argument against external_auth in place of the real arguments.",
                        argument.key)};
  }
  return {};
}

Result<Permit> SaltMaster::admit(const lowstate::Chunk& chunk, SteadyTime deadline, const Permit*) {
  const auth::Credentials& credentials = chunk.credentials;
  auto grant = client_.login(credentials, deadline);
  if (!grant) return std::move(grant).error();
  const bool known = *grant != nullptr;
  if (!known && needs_lookup(chunk)) {
    if (auto confirmed = client_.confirm(credentials, deadline); !confirmed) {
      return std::move(confirmed).error();
    }
  }
  auto admitted = std::make_shared<Allowed>();
  std::string user(known ? (*grant)->name : credentials.username);
  std::string eauth(known ? (*grant)->eauth : credentials.eauth);
  if (chunk.is_local()) {
    const auth::Subject subject{
        eauth, user, known ? std::span(std::as_const((*grant)->groups)) : std::span<const std::string>()};
    const bool ssh = chunk.client == lowstate::Client::ssh;
    const auto of_token = known ? permissions_of_token(**grant) : nullptr;
    const auth::Permissions& rules = of_token ? *of_token : *permissions_;
    const bool goes_inline = options_.inline_login || (known && is_token_without_permissions(**grant));
    auto checked =
        ssh ? check_ssh(chunk, subject, rules, deadline) : check_local(chunk, subject, rules, goes_inline);
    if (!checked) return std::move(checked).error();
    admitted->is_surely_allowed = !ssh && !goes_inline && allows_each(rules, subject, chunk.local());
  }
  const bool wheel = chunk.client == lowstate::Client::wheel || chunk.client == lowstate::Client::wheel_async;
  if (wheel) {
    if (auto checked = check_wheel_arguments(chunk.master()); !checked) return std::move(checked).error();
  }
  return permit(chunk, std::move(user), std::move(eauth), deadline, std::move(admitted));
}

/// The master makes the job ids of runners and of wheels that the caller waits for.
Result<void> SaltMaster::prepare(Permit& permit) {
  const lowstate::Chunk& chunk = permit.chunk();
  const auto grant = client_.confirmed_login(chunk.credentials, permit.deadline());
  if (!grant) return grant.error();
  const lowstate::Client client = chunk.client;
  if (chunk.is_local() && !chunk.local().jid.empty()) {
    permit.set_jid(std::string(chunk.local().jid));
  } else if (client == lowstate::Client::ssh || client == lowstate::Client::wheel_async ||
             (chunk.is_local() && is_surely_allowed(permit))) {
    permit.set_jid(runtime_->next_jid());
  }
  return {};
}

bool SaltMaster::is_surely_allowed(const Permit& permit) {
  return static_cast<const Allowed&>(permit.admitted()).is_surely_allowed;
}

Result<void> SaltMaster::check_local(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                     const auth::Permissions& rules, bool goes_inline) const {
  const lowstate::LocalCall& call = chunk.local();
  if (goes_inline && !call.jid.empty()) {
    return Error{
        ErrorKind::invocation,
        format(
            "Lowstate chunk {}: `jid` is not accepted if the password is sent with each call (inline_login). "
            "If the Salt master refuses such a call, it shows the call and its credentials on its event bus.",
            chunk.index)};
  }
  if (auto target = nodegroups_.expand(call.target); !target) return std::move(target).error();
  return refused_as(subject, check_each_function(rules, subject, call));
}

Result<void> SaltMaster::check_ssh(const lowstate::Chunk& chunk, const auth::Subject& subject,
                                   const auth::Permissions& rules, SteadyTime deadline) const {
  if (chunk.credentials.kind == auth::Credentials::Kind::token) {
    // Calls of `ssh` do not reach the master. The master is therefore asked about each token, even about a
    // cached token.
    const auto held = client_.ask(chunk.credentials, deadline);
    if (!held && !is_refusal(held.error())) return held.error();
    if (!held) return Error{ErrorKind::authentication, "Authorization error occurred."};
  }
  auto allowed = refused_as(subject, check_on_roster(rules, subject, chunk.local()));
  if (!allowed) return allowed;
  return ssh_.python().without_value();
}

}  // namespace rest_fcgi::salt
