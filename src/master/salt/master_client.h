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

/// How a load is sent: its priority class, and the maximum time to wait for the reply, whatever the request's
/// deadline. A worker of the master can die without a reply.
struct SendOptions {
  PriorityClass priority;
  std::chrono::seconds timeout;
};
inline constexpr SendOptions kPublish{PriorityClass::publish,
                                      std::chrono::seconds(15)};  // the timeout of Salt's own client
inline constexpr SendOptions kQuestion{PriorityClass::question, std::chrono::seconds(15)};
inline constexpr SendOptions kRunner{PriorityClass::runner, std::chrono::seconds(60)};
inline constexpr SendOptions kWheel{PriorityClass::wheel,
                                    std::chrono::hours(24)};  // the reply comes when the wheel has ended

/// Sends loads for callers. Credentials are exchanged for a token once, and the token is sent with each load.
/// With `inline_login`, and if the token has no permissions (`is_token_without_permissions`), the credentials
/// are sent instead. Thread-safe.
class MasterClient {
 public:
  using GrantPtr = std::shared_ptr<const auth::Grant>;
  using Write = std::function<Result<WipedBytes>(const Caller&)>;
  using Before = RequestPool::Before;

  MasterClient(bool inline_login, std::unique_ptr<auth::Logins> logins,
               std::shared_ptr<RequestPool> requests);

  /// Returns the token for these credentials; null if the credentials are sent themselves. Errors:
  /// authentication, throttled, and those of `RequestPool`.
  [[nodiscard]] Result<GrantPtr> login(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Does the same with a new token each time, also with `inline_login`. REQUIRES: kind eauth.
  [[nodiscard]] Result<GrantPtr> login_anew(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Returns the owner of a token, without counting failures. Errors: authentication, and those of
  /// `RequestPool`.
  [[nodiscard]] Result<GrantPtr> holder(SecretView token, SteadyTime deadline) const;

  /// Revokes a token, see `auth::Logins::log_out`.
  [[nodiscard]] Result<void> log_out(SecretView token, const auth::Grant& grant) const;

  /// Asks the master whether it accepts these credentials, which are sent themselves. Failures count as
  /// failed logins. Errors: authentication, throttled; authorization, for a user in the master's
  /// `publisher_acl_blacklist`; those of `RequestPool`. REQUIRES: `login` returns null for them.
  [[nodiscard]] Result<void> confirm(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Does the same as `login`, and asks the master whether it accepts the token now.
  [[nodiscard]] Result<GrantPtr> confirmed_login(const auth::Credentials& credentials,
                                                 SteadyTime deadline) const;

  /// Asks the master. Errors: as for `login`.
  [[nodiscard]] Result<auth::Grant> ask(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Calls `before`, sends the load that `write` makes, and reads the reply with `read`. If the master
  /// refuses the token, a new token is made and the load is sent once more, since a refused load was not run.
  /// Errors: authentication, throttled, authorization; those of `write`, `before`, `read` and `RequestPool`.
  template <class T>
  [[nodiscard]] Result<T> call(const master::Permit& permit, const SendOptions& options, const Write& write,
                               Result<T> (*read)(std::string_view), const Before& before = {}) const {
    std::optional<T> value;
    const auto keep = [&](std::string_view bytes) -> Result<void> {
      Result<T> answer = read(bytes);
      if (!answer) return std::move(answer).error();
      value = *std::move(answer);
      return {};
    };
    Result<void> sent = send(permit, options, {write, before, keep});
    if (!sent) return std::move(sent).error();
    return *std::move(value);
  }

 private:
  struct Steps {
    const Write& write;
    const Before& before;
    std::function<Result<void>(std::string_view)> read;
  };

  Result<void> send(const master::Permit& permit, const SendOptions& options, const Steps& steps) const;
  Result<void> send_inline(const master::Permit& permit, const SendOptions& options,
                           const Steps& steps) const;
  Result<void> send_once(const master::Permit& permit, const SendOptions& options, const Caller& caller,
                         const Steps& steps) const;

  void log_inline_login(const auth::Grant& grant) const;

  const bool inline_login_;
  mutable std::atomic<bool> logged_inline_ = false;
  const std::unique_ptr<auth::Logins> logins_;
  const std::shared_ptr<RequestPool> requests_;
};

/// Returns whether the master refused the load, so that nothing was done.
[[nodiscard]] bool is_refusal(const Error& error);

/// Returns whether the master keeps the user's permissions in the token and found none, so that it refuses
/// all calls with the token. With `keep_acl_in_token`, which the back end `rest` in `external_auth` turns on,
/// Salt asks only the back end for permissions when it makes a token, and most back ends have none. The rules
/// of the master's file then apply only to calls with a password.
[[nodiscard]] bool is_token_without_permissions(const auth::Grant& grant);

/// Returns the token as credentials. Borrows.
[[nodiscard]] auth::Credentials token_of(const auth::Grant& grant);

}  // namespace rest_fcgi::salt
