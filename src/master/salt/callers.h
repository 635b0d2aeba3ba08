// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "master/salt/calls/messages.h"
#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::salt {

/// How a load is sent: in which lane, and for how long at most its answer is waited for, whatever the
/// request's deadline. A worker of the master can be lost without a word; what waits for it must not wait for
/// ever.
struct SendTerms {
  Lane lane;
  std::chrono::seconds patience;
};
inline constexpr SendTerms kPublish{Lane::publish,
                                    std::chrono::seconds(15)};  // when Salt's own client gives up
inline constexpr SendTerms kQuestion{Lane::question, std::chrono::seconds(15)};
inline constexpr SendTerms kRunner{Lane::runner, std::chrono::seconds(60)};
inline constexpr SendTerms kWheel{Lane::wheel,
                                  std::chrono::hours(24)};  // it runs to its end before the answer

/// Sends loads for those who call. Credentials are traded for a token first, once, and the token is what goes
/// along. The credentials themselves go along with `inline_login`, and where the token has no rights
/// (`is_token_without_rights`). Thread-safe.
class Callers {
 public:
  using GrantPtr = std::shared_ptr<const auth::Grant>;
  using Write = std::function<Result<WipedBytes>(const Caller&)>;
  using Before = RequestPool::Before;

  Callers(bool inline_login, std::unique_ptr<auth::Logins> logins, std::shared_ptr<RequestPool> requests);

  /// What stands for these credentials; null where they go along themselves. Errors: authentication,
  /// throttled, and those of `RequestPool`.
  [[nodiscard]] Result<GrantPtr> login(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// As `login`, with a new token each time, also with `inline_login`. REQUIRES: kind eauth.
  [[nodiscard]] Result<GrantPtr> login_anew(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Who holds a token, under no guard. Errors: authentication, and those of `RequestPool`.
  [[nodiscard]] Result<GrantPtr> holder(SecretView token, SteadyTime deadline) const;

  /// Ends a token here, see `auth::Logins::log_out`.
  [[nodiscard]] Result<void> log_out(SecretView token, const auth::Grant& grant) const;

  /// Does the master take these, which go along themselves? Each time it is asked, under the same guard as a
  /// login. Errors: authentication, throttled; authorization, for a user whom the master's
  /// `publisher_acl_blacklist` refuses whatever the password is; those of `RequestPool`.
  /// REQUIRES: `login` gives null for them.
  [[nodiscard]] Result<void> confirm(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// As `login`, and the master takes it now.
  [[nodiscard]] Result<GrantPtr> confirmed_login(const auth::Credentials& credentials,
                                                 SteadyTime deadline) const;

  /// Asks the master itself. Errors: the same.
  [[nodiscard]] Result<auth::Grant> ask(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Sends the load that `write` makes, after a call of `before`, and reads the answer with `read`. Where the
  /// master no longer takes a token, the credentials are traded for a new one, once: a refused load was not
  /// carried out. Errors: authentication, throttled, authorization; those of `write`, `before`, `read` and
  /// `RequestPool`.
  template <class T>
  [[nodiscard]] Result<T> call(const master::Permit& permit, const SendTerms& terms, const Write& write,
                               Result<T> (*read)(std::string_view), const Before& before = {}) const {
    std::optional<T> value;
    const auto keep = [&](std::string_view bytes) -> Result<void> {
      Result<T> answer = read(bytes);
      if (!answer) return std::move(answer).error();
      value = *std::move(answer);
      return {};
    };
    Result<void> sent = send(permit, terms, {write, before, keep});
    if (!sent) return std::move(sent).error();
    return *std::move(value);
  }

 private:
  struct Steps {
    const Write& write;
    const Before& before;
    std::function<Result<void>(std::string_view)> read;
  };

  Result<void> send(const master::Permit& permit, const SendTerms& terms, const Steps& steps) const;
  Result<void> send_inline(const master::Permit& permit, const SendTerms& terms, const Steps& steps) const;
  Result<void> send_once(const master::Permit& permit, const SendTerms& terms, const Caller& caller,
                         const Steps& steps) const;

  void tell_of_inline(const auth::Grant& grant) const;

  const bool inline_login_;
  mutable std::atomic<bool> told_of_inline_ = false;
  const std::unique_ptr<auth::Logins> logins_;
  const std::shared_ptr<RequestPool> requests_;
};

/// Did the master refuse to do it, so that nothing was done?
[[nodiscard]] bool is_refusal(const Error& error);

/// Does the master keep the holder's rights in its token, and has it found none? It then refuses each call
/// with that token. With `keep_acl_in_token`, which the back end `rest` in `external_auth` turns on, Salt
/// asks the back end alone for rights when it makes a token, and most back ends know none: the rules of the
/// master's file count for calls with a password, and not for tokens.
[[nodiscard]] bool is_token_without_rights(const auth::Grant& grant);

/// A grant's token as credentials. Borrows from the grant.
[[nodiscard]] auth::Credentials token_of(const auth::Grant& grant);

}  // namespace rest_fcgi::salt
