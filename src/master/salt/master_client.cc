// SPDX-License-Identifier: MIT
#include "master/salt/master_client.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using auth::Credentials;
using master::Permit;

// If a reply does not come, because a worker of the master died, the request is sent again. Each attempt has
// a longer timeout than the one before, because an eauth back end may be slow.
constexpr SendOptions kMakeToken{PriorityClass::login, std::chrono::seconds(5)};
constexpr SendOptions kGetToken{PriorityClass::token, std::chrono::seconds(3)};
constexpr SendOptions kConfirm{PriorityClass::login, std::chrono::seconds(15)};
constexpr int kTries = 3;

constexpr const char* kRefused = "Authorization error occurred.";

SteadyTime until(const SendOptions& options, SteadyTime deadline) {
  return std::min(deadline, system_clock().steady() + options.timeout);
}

/// Gives a refusal the text that all engines use. If a permission is missing, adds the user to the error, for
/// the audit log. Returns any other error unchanged.
Error shown_refusal(const Error& error, std::string_view user, std::string_view eauth) {
  if (!is_refusal(error)) return error;
  Error refusal{error.kind, kRefused};
  if (error.kind == ErrorKind::authentication) return refusal;
  refusal.user = user;
  refusal.eauth = eauth;
  return refusal;
}

Error login_unchecked(Error error) {
  error.message = format("The login was not checked, and nothing ran: {}", error.message);
  return error;
}

Credentials credentials_of(SecretView token) {
  return {.kind = Credentials::Kind::token, .token = token};
}

}  // namespace

bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::authentication || error.kind == ErrorKind::authorization;
}

bool is_token_without_permissions(const auth::Grant& grant) {
  return grant.auth_list && grant.auth_list->text() == "null";
}

Credentials token_of(const auth::Grant& grant) {
  return credentials_of(grant.token);
}

MasterClient::MasterClient(bool inline_login, std::unique_ptr<auth::Logins> logins,
                           std::shared_ptr<RequestPool> requests)
    : inline_login_(inline_login), logins_(std::move(logins)), requests_(std::move(requests)) {}

Result<MasterClient::GrantPtr> MasterClient::login(const Credentials& credentials,
                                                   SteadyTime deadline) const {
  if (inline_login_ && credentials.kind == Credentials::Kind::eauth) return GrantPtr();
  return logins_->login(credentials, [&](const Credentials& checked) { return ask(checked, deadline); },
                        deadline, {});
}

Result<MasterClient::GrantPtr> MasterClient::login_anew(const Credentials& credentials,
                                                        SteadyTime deadline) const {
  return logins_->login_anew(
      credentials, [&](const Credentials& checked) { return ask(checked, deadline); }, deadline);
}

Result<MasterClient::GrantPtr> MasterClient::holder(SecretView token, SteadyTime deadline) const {
  return logins_->login(
      credentials_of(token), [&](const Credentials& checked) { return ask(checked, deadline); }, deadline);
}

Result<void> MasterClient::log_out(SecretView token, const auth::Grant& grant) const {
  return logins_->log_out(credentials_of(token), grant);
}

Result<void> MasterClient::confirm(const Credentials& credentials, SteadyTime deadline) const {
  const auto try_credentials = [&]() -> Result<void> {
    bool is_sent = false;
    const auto reply = requests_->request({kConfirm.priority, credentials.remote, &is_sent},
                                          login_load(credentials), until(kConfirm, deadline));
    if (!reply) return is_sent ? login_unchecked(reply.error()) : reply.error();
    const auto answer = read_publish_reply(*reply);
    if (answer) return {};
    // Every user may run the function of this load. An error about permissions therefore means that a setting
    // of the master refuses the user.
    return shown_refusal(answer.error(), credentials.username, credentials.eauth);
  };
  return logins_->guarded(credentials, try_credentials, deadline);
}

Result<MasterClient::GrantPtr> MasterClient::confirmed_login(const Credentials& credentials,
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

Result<auth::Grant> MasterClient::ask(const Credentials& credentials, SteadyTime deadline) const {
  const bool by_token = credentials.kind == Credentials::Kind::token;
  const SendOptions& first = by_token ? kGetToken : kMakeToken;
  for (int tries = 1;; ++tries) {
    const SendOptions options{first.priority, first.timeout * tries};
    bool is_sent = false;
    auto reply = requests_->request({options.priority, credentials.remote, &is_sent}, token_load(credentials),
                                    until(options, deadline));
    if (!reply) {
      const bool lost = reply.error().kind == ErrorKind::timeout && system_clock().steady() < deadline;
      if (lost && tries < kTries) continue;
      return is_sent ? login_unchecked(std::move(reply).error()) : std::move(reply).error();
    }
    const std::string_view bytes(reply->data(), reply->size());
    auto answer = by_token ? read_get_token_reply(bytes) : read_mk_token_reply(bytes);
    // A back end that takes no token raises an exception in the master. salt-api then answers 401, too.
    const bool may_raise = !by_token && credentials.token.size() != 0;
    if (answer || !(may_raise || is_refusal(answer.error()))) return answer;
    return Error{ErrorKind::authentication, kRefused};
  }
}

Result<void> MasterClient::send(const Permit& permit, const SendOptions& options, const Steps& steps) const {
  const Credentials& credentials = permit.chunk().credentials;
  for (bool again = false;; again = true) {
    const Result<GrantPtr> grant = login(credentials, permit.deadline());
    if (!grant) return grant.error();
    if (!*grant) return send_inline(permit, options, steps);
    const bool has_no_permissions = is_token_without_permissions(**grant);
    if (has_no_permissions && !logged_inline_.exchange(true)) {
      log::warning(format(
          "the Salt master keeps permissions in its tokens (keep_acl_in_token, which the back end rest of "
          "external_auth turns on), but the token of user \"{}\" of the back end {} has no permissions. "
          "The password is sent with each call, and sessions of POST /login can run no functions; see "
          "salt.md, How do logins work?",
          (*grant)->name, (*grant)->eauth));
    }
    const bool goes_inline = has_no_permissions && credentials.kind == Credentials::Kind::eauth;
    const Credentials token = token_of(**grant);
    const SendOptions these{goes_inline ? PriorityClass::login : options.priority, options.timeout};
    const Result<void> sent =
        send_once(permit, these, {goes_inline ? &credentials : &token, permit.user()}, steps);
    if (sent) return {};
    const bool is_bad = sent.error().kind == ErrorKind::authentication;
    if (is_bad) logins_->forget(credentials, **grant);
    if (!is_bad || again) return shown_refusal(sent.error(), permit.user(), permit.eauth());
  }
}

/// A load with credentials counts as a login, because the master checks the password.
Result<void> MasterClient::send_inline(const Permit& permit, const SendOptions& options,
                                       const Steps& steps) const {
  const Credentials& credentials = permit.chunk().credentials;
  const auto try_credentials = [&]() -> Result<void> {
    const Result<void> sent =
        send_once(permit, {PriorityClass::login, options.timeout}, {&credentials, permit.user()}, steps);
    if (sent) return {};
    return shown_refusal(sent.error(), permit.user(), permit.eauth());
  };
  return logins_->guarded(credentials, try_credentials, permit.deadline());
}

Result<void> MasterClient::send_once(const Permit& permit, const SendOptions& options, const Caller& caller,
                                     const Steps& steps) const {
  Result<std::string> load = steps.write(caller);
  if (!load) return std::move(load).error();
  steps.is_sent = false;
  auto reply = requests_->request({options.priority, permit.chunk().credentials.remote, &steps.is_sent},
                                  *std::move(load), until(options, permit.deadline()), steps.before);
  if (!reply) {
    Error error = std::move(reply).error();
    if (steps.is_sent) error.message += " Whether it carried out the request is not known.";
    error.may_have_run = steps.is_sent;
    return error;
  }
  Result<void> read = steps.read(*reply);
  if (!read && is_refusal(read.error())) {
    log::info(format("the Salt master refused lowstate chunk {} of user \"{}\": {}", permit.chunk().index,
                     permit.user(), read.error().message));
  }
  return read;
}

}  // namespace rest_fcgi::salt
