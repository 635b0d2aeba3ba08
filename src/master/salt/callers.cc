// SPDX-License-Identifier: MIT
#include "master/salt/callers.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using auth::Credentials;
using master::Permit;

// Asking about credentials changes nothing that matters, so it may be done again where a worker was lost.
// Each try has longer than the one before: a back end may be slow by itself.
constexpr SendTerms kMakeToken{Lane::login, std::chrono::seconds(5)};
constexpr SendTerms kGetToken{Lane::token, std::chrono::seconds(3)};
constexpr SendTerms kConfirm{Lane::login, std::chrono::seconds(15)};
constexpr int kTries = 3;

constexpr const char* kRefused = "Authorization error occurred.";

SteadyTime until(const SendTerms& terms, SteadyTime deadline) {
  return std::min(deadline, system_clock().steady() + terms.patience);
}

/// A refusal as every caller gets to see it, whichever engine it is: without the master's own sentence, and
/// where a right is missing with who it was, for the audit. Other errors are as they were.
Error shown_refusal(const Error& error, std::string_view user, std::string_view eauth) {
  if (!is_refusal(error)) return error;
  Error refusal{error.kind, kRefused};
  if (error.kind == ErrorKind::authentication) return refusal;
  refusal.user = user;
  refusal.eauth = eauth;
  return refusal;
}

Credentials credentials_of(SecretView token) {
  return {.kind = Credentials::Kind::token, .token = token};
}

}  // namespace

bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::authentication || error.kind == ErrorKind::authorization;
}

bool is_token_without_rights(const auth::Grant& grant) {
  return grant.auth_list && grant.auth_list->text() == "null";
}

Credentials token_of(const auth::Grant& grant) {
  return credentials_of(grant.token);
}

Callers::Callers(bool inline_login, std::unique_ptr<auth::Logins> logins,
                 std::shared_ptr<RequestPool> requests)
    : inline_login_(inline_login), logins_(std::move(logins)), requests_(std::move(requests)) {}

Result<Callers::GrantPtr> Callers::login(const Credentials& credentials, SteadyTime deadline) const {
  if (inline_login_ && credentials.kind == Credentials::Kind::eauth) return GrantPtr();
  return logins_->login(credentials, [&](const Credentials& asked) { return ask(asked, deadline); }, deadline,
                        {});
}

Result<Callers::GrantPtr> Callers::login_anew(const Credentials& credentials, SteadyTime deadline) const {
  return logins_->login_anew(
      credentials, [&](const Credentials& asked) { return ask(asked, deadline); }, deadline);
}

Result<Callers::GrantPtr> Callers::holder(SecretView token, SteadyTime deadline) const {
  return logins_->holder(
      credentials_of(token), [&](const Credentials& asked) { return ask(asked, deadline); }, deadline);
}

Result<void> Callers::log_out(SecretView token, const auth::Grant& grant) const {
  return logins_->log_out(credentials_of(token), grant);
}

Result<void> Callers::confirm(const Credentials& credentials, SteadyTime deadline) const {
  const auto try_them = [&]() -> Result<void> {
    const auto reply = requests_->request({kConfirm.lane, credentials.remote}, login_load(credentials),
                                          until(kConfirm, deadline));
    if (!reply) return reply.error();
    const auto answer = read_publish_reply({reply->data(), reply->size()});
    if (answer) return {};
    // A missing right says nothing of the password: everybody has the right to this function, so whoever
    // lacks it was refused by name, before the password was looked at.
    return shown_refusal(answer.error(), credentials.username, credentials.eauth);
  };
  return logins_->guarded(credentials, try_them, deadline);
}

Result<Callers::GrantPtr> Callers::confirmed_login(const Credentials& credentials,
                                                   SteadyTime deadline) const {
  Result<GrantPtr> grant = login(credentials, deadline);
  if (!grant) return grant;
  if (!*grant) {
    auto confirmed = confirm(credentials, deadline);
    return confirmed ? grant : Result<GrantPtr>(std::move(confirmed).error());
  }
  const auto confirmed = ask(token_of(**grant), deadline);
  if (confirmed || confirmed.error().kind != ErrorKind::authentication) {
    return confirmed ? grant : Result<GrantPtr>(confirmed.error());
  }
  logins_->forget(credentials, **grant);
  return login(credentials, deadline);
}

Result<auth::Grant> Callers::ask(const Credentials& credentials, SteadyTime deadline) const {
  const bool by_token = credentials.kind == Credentials::Kind::token;
  const SendTerms& first = by_token ? kGetToken : kMakeToken;
  for (int tries = 1;; ++tries) {
    const SendTerms terms{first.lane, first.patience * tries};
    auto reply =
        requests_->request({terms.lane, credentials.remote}, token_load(credentials), until(terms, deadline));
    if (!reply) {
      const bool lost = reply.error().kind == ErrorKind::timeout && system_clock().steady() < deadline;
      if (lost && tries < kTries) continue;
      return std::move(reply).error();
    }
    const std::string_view bytes(reply->data(), reply->size());
    auto answer = by_token ? read_get_token_reply(bytes) : read_mk_token_reply(bytes);
    if (answer || !is_refusal(answer.error())) return answer;
    return Error{ErrorKind::authentication, kRefused};
  }
}

Result<void> Callers::send(const Permit& permit, const SendTerms& terms, const Steps& steps) const {
  const Credentials& credentials = permit.chunk().credentials;
  for (bool again = false;; again = true) {
    const Result<GrantPtr> grant = login(credentials, permit.deadline());
    if (!grant) return grant.error();
    if (!*grant) return send_inline(permit, terms, steps);
    const bool powerless = is_token_without_rights(**grant);
    if (powerless) tell_of_inline(**grant);
    const bool goes_inline = powerless && credentials.kind == Credentials::Kind::eauth;
    const Credentials token = token_of(**grant);
    const SendTerms these{goes_inline ? Lane::login : terms.lane, terms.patience};
    const Result<void> sent =
        send_once(permit, these, {goes_inline ? &credentials : &token, permit.user()}, steps);
    if (sent) return {};
    const bool is_bad = sent.error().kind == ErrorKind::authentication;
    if (is_bad) logins_->forget(credentials, **grant);
    if (!is_bad || again) return shown_refusal(sent.error(), permit.user(), permit.eauth());
  }
}

void Callers::tell_of_inline(const auth::Grant& grant) const {
  if (told_of_inline_.exchange(true)) return;
  log::warning(format(
      "the Salt master keeps rights in its tokens (keep_acl_in_token, which the back end rest in "
      "external_auth turns on) and has none there for user \"{}\" of the back end {}: passwords go with "
      "each call, and the sessions of POST /login can run nothing; see salt.md, Logins",
      grant.name, grant.eauth));
}

/// The master checks a password in each load then: it takes what a login takes, and is guarded as one.
Result<void> Callers::send_inline(const Permit& permit, const SendTerms& terms, const Steps& steps) const {
  const Credentials& credentials = permit.chunk().credentials;
  const auto try_them = [&]() -> Result<void> {
    const Result<void> sent =
        send_once(permit, {Lane::login, terms.patience}, {&credentials, permit.user()}, steps);
    if (sent) return {};
    return shown_refusal(sent.error(), permit.user(), permit.eauth());
  };
  return logins_->guarded(credentials, try_them, permit.deadline());
}

Result<void> Callers::send_once(const Permit& permit, const SendTerms& terms, const Caller& caller,
                                const Steps& steps) const {
  Result<WipedBytes> load = steps.write(caller);
  if (!load) return std::move(load).error();
  const auto reply = requests_->request({terms.lane, permit.chunk().credentials.remote}, *std::move(load),
                                        until(terms, permit.deadline()), steps.before);
  if (!reply) return reply.error();
  Result<void> read = steps.read({reply->data(), reply->size()});
  if (!read && is_refusal(read.error())) {
    log::info(format("the Salt master refused lowstate chunk {} of user \"{}\": {}", permit.chunk().index,
                     permit.user(), read.error().message));
  }
  return read;
}

}  // namespace rest_fcgi::salt
