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
constexpr Errand kMakeToken{Lane::login, std::chrono::seconds(5)};
constexpr Errand kGetToken{Lane::publish, std::chrono::seconds(3)};
constexpr Errand kConfirm{Lane::login, std::chrono::seconds(15)};
constexpr int kTries = 3;

SteadyTime until(const Errand& errand, SteadyTime deadline) {
  return std::min(deadline, system_clock().steady() + errand.patience);
}

/// What every caller gets to see whose credentials are not good, whichever engine it is.
Error bad_credentials() {
  return {ErrorKind::authentication, "Authorization error occurred."};
}

Error no_rights(std::string_view user, std::string_view eauth) {
  Error error{ErrorKind::authorization, "Authorization error occurred."};
  error.user = user;
  error.eauth = eauth;
  return error;
}

void log_refusal(const Permit& permit, std::string_view message) {
  log::info(format("the Salt master refused lowstate chunk {} of user \"{}\": {}", permit.chunk().index,
                   permit.user(), message));
}

}  // namespace

Credentials token_of(const auth::Grant& grant) {
  Credentials credentials;
  credentials.kind = Credentials::Kind::token;
  credentials.token = grant.token;
  return credentials;
}

Callers::Callers(bool inline_login, std::unique_ptr<auth::Logins> logins,
                 std::shared_ptr<RequestPool> requests)
    : inline_login_(inline_login), logins_(std::move(logins)), requests_(std::move(requests)) {}

Result<Callers::GrantPtr> Callers::login(const Credentials& credentials, SteadyTime deadline) const {
  if (inline_login_ && credentials.kind == Credentials::Kind::eauth) return GrantPtr();
  return logins_->login(
      credentials, [&](const Credentials& asked) { return ask(asked, deadline); }, deadline);
}

Result<void> Callers::confirm(const Credentials& credentials, SteadyTime deadline) const {
  const auto try_them = [&]() -> Result<void> {
    const auto reply = requests_->request(kConfirm.lane, login_load(credentials), until(kConfirm, deadline));
    if (!reply) return reply.error();
    const auto answer = read_publish_reply({reply->data(), reply->size()});
    if (!answer) return answer.error();
    // Everybody has the right to it, so that this one was refused before the password was looked at.
    if (answer->refusal == Refusal::rights) return no_rights(credentials.username, credentials.eauth);
    if (answer->refusal) return bad_credentials();
    return {};
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
  const Errand& first = by_token ? kGetToken : kMakeToken;
  for (int tries = 1;; ++tries) {
    const Errand errand{first.lane, first.patience * tries};
    auto reply =
        requests_->request(errand.lane, by_token ? get_token_load(credentials) : mk_token_load(credentials),
                           until(errand, deadline));
    if (!reply) {
      const bool lost = reply.error().kind == ErrorKind::timeout && system_clock().steady() < deadline;
      if (lost && tries < kTries) continue;
      return std::move(reply).error();
    }
    const std::string_view bytes(reply->data(), reply->size());
    auto answer = by_token ? read_get_token_reply(bytes) : read_mk_token_reply(bytes);
    if (!answer) return std::move(answer).error();
    if (answer->refusal) return bad_credentials();
    return std::move(answer->value);
  }
}

Result<void> Callers::send(const Permit& permit, const Errand& errand, const Write& write,
                           const Read& read) const {
  const Credentials& credentials = permit.chunk().credentials;
  for (bool again = false;; again = true) {
    const Result<GrantPtr> grant = login(credentials, permit.deadline());
    if (!grant) return grant.error();
    if (!*grant) return send_inline(permit, errand, write, read);
    const Credentials token = token_of(**grant);
    const Result<Refused> sent = send_once(permit, errand, {&token, permit.user()}, write, read);
    if (!sent) return sent.error();
    if (!sent->has_value()) return {};
    log_refusal(permit, (*sent)->message);
    if ((*sent)->refusal == Refusal::rights) return no_rights(permit.user(), permit.eauth());
    logins_->forget(credentials, **grant);
    if (again) return bad_credentials();
  }
}

/// The master checks a password in each load then: it takes what a login takes, and is guarded as one.
Result<void> Callers::send_inline(const Permit& permit, const Errand& errand, const Write& write,
                                  const Read& read) const {
  const Credentials& credentials = permit.chunk().credentials;
  Refused refused;
  const auto try_them = [&]() -> Result<void> {
    auto sent = send_once(permit, {Lane::login, errand.patience}, {&credentials, permit.user()}, write, read);
    if (!sent) return std::move(sent).error();
    refused = *std::move(sent);
    if (refused && refused->refusal != Refusal::rights) return bad_credentials();
    return {};
  };
  auto guarded = logins_->guarded(credentials, try_them, permit.deadline());
  if (refused) log_refusal(permit, refused->message);
  if (!guarded) return guarded;
  if (refused) return no_rights(permit.user(), permit.eauth());
  return {};
}

Result<Callers::Refused> Callers::send_once(const Permit& permit, const Errand& errand, const Caller& caller,
                                            const Write& write, const Read& read) const {
  Result<WipedBytes> load = write(caller);
  if (!load) return std::move(load).error();
  const auto reply = requests_->request(errand.lane, *std::move(load), until(errand, permit.deadline()));
  if (!reply) return reply.error();
  return read({reply->data(), reply->size()});
}

}  // namespace rest_fcgi::salt
