// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "master/salt/calls/messages.h"
#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::salt {

/// The priority class of a load, and the longest wait for its reply. The wait is limited, because a worker of
/// the master can die without a reply.
struct SendOptions {
  PriorityClass priority;
  std::chrono::seconds timeout;
};
inline constexpr SendOptions kPublish{PriorityClass::publish,
                                      std::chrono::seconds(15)};  // The timeout of Salt's client.
inline constexpr SendOptions kQuestion{PriorityClass::question, std::chrono::seconds(15)};
inline constexpr SendOptions kRunner{PriorityClass::runner, std::chrono::seconds(60)};
inline constexpr SendOptions kWheel{// A wheel may run for hours, and its reply comes at its end.
                                    PriorityClass::wheel, std::chrono::hours(24)};

/// Sends loads for callers. The master exchanges credentials for a token once, and each load has this token.
/// With `inline_login`, or if the token has no permissions, each load has the credentials instead.
/// Thread-safe.
class MasterClient {
 public:
  using GrantPtr = std::shared_ptr<const auth::Grant>;
  using Write = std::function<Result<std::string>(const Caller&)>;
  using Before = RequestPool::Before;

  MasterClient(bool inline_login, std::unique_ptr<auth::Logins> logins,
               std::shared_ptr<RequestPool> requests);

  /// Returns the token for the credentials. Returns null if each load is sent with the credentials. Fails
  /// with `authentication`, `throttled`, and the errors of `RequestPool`.
  Result<GrantPtr> login(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Returns a new token for the credentials, even with `inline_login`. Fails with the errors of `login`.
  /// REQUIRES: the credentials are of the kind eauth.
  Result<GrantPtr> login_anew(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Returns the owner of a token. A failure does not count as a failed login. Fails with `authentication`
  /// and the errors of `RequestPool`.
  Result<GrantPtr> holder(SecretView token, SteadyTime deadline) const;

  Result<void> log_out(SecretView token, const auth::Grant& grant) const;

  /// Asks the master whether it accepts the credentials. A refusal counts as a failed login. Fails with
  /// `authentication`, `throttled`, the errors of `RequestPool`, or `authorization` for a user in
  /// `publisher_acl_blacklist`. REQUIRES: `login` returns null for the credentials.
  Result<void> confirm(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Logs in like `login`. Asks the master whether it accepts a cached token, and replaces a refused token.
  Result<GrantPtr> confirmed_login(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Asks the master for a token, or for the owner of a token. Fails with the errors of `login`.
  Result<auth::Grant> ask(const auth::Credentials& credentials, SteadyTime deadline) const;

  /// Calls `before`, sends the load that `write` returns, and reads the reply with `read`. A refused load did
  /// not run, so it is sent once more with a new token. Fails with the errors of these functions, and with
  /// `authentication`, `throttled` or `authorization`. `is_sent` may be null. It gets the value true if the
  /// master may have the load, also after an error.
  template <class T>
  Result<T> call(const master::Permit& permit, const SendOptions& options, const Write& write,
                 Result<T> (*read)(std::string_view), const Before& before = {},
                 bool* is_sent = nullptr) const {
    std::optional<T> value;
    const auto keep = [&](std::string_view bytes) -> Result<void> {
      Result<T> answer = read(bytes);
      if (!answer) return std::move(answer).error();
      value = *std::move(answer);
      return {};
    };
    bool ignored = false;
    Result<void> sent = send(permit, options, {write, before, keep, is_sent != nullptr ? *is_sent : ignored});
    if (!sent) return std::move(sent).error();
    return *std::move(value);
  }

 private:
  struct Steps {
    const Write& write;
    const Before& before;
    std::function<Result<void>(std::string_view)> read;
    bool& is_sent;
  };

  Result<void> send(const master::Permit& permit, const SendOptions& options, const Steps& steps) const;
  Result<void> send_inline(const master::Permit& permit, const SendOptions& options,
                           const Steps& steps) const;
  Result<void> send_once(const master::Permit& permit, const SendOptions& options, const Caller& caller,
                         const Steps& steps) const;

  const bool inline_login_;
  mutable std::atomic<bool> logged_inline_ = false;
  const std::unique_ptr<auth::Logins> logins_;
  const std::shared_ptr<RequestPool> requests_;
};

/// Returns whether the error is a refusal of the master. The master does not run a refused load.
[[nodiscard]] bool is_refusal(const Error& error);

/// Returns whether the master keeps permissions in tokens and this token has none.
/// The master refuses all calls with such a token. The cause is the setting `keep_acl_in_token`, which the
/// back end `rest` turns on. Salt then gets the permissions from the back end alone, and most back ends
/// return none.
[[nodiscard]] bool is_token_without_permissions(const auth::Grant& grant);

/// Returns the token as credentials, which borrow from `grant`.
[[nodiscard]] auth::Credentials token_of(const auth::Grant& grant);

}  // namespace rest_fcgi::salt
