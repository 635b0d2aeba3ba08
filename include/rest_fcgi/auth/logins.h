// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

class RevocationList;

/// What a check of good credentials gave. Immutable once made; shared.
struct Grant {
  std::string name;   ///< the user
  std::string eauth;  ///< the back end that knows the user
  std::vector<std::string> groups{};
  Secret token{};  ///< a master's, which stands for the credentials in what follows; may be empty
  WallTime expire = WallTime::max();  ///< of the token, by the master's clock
  WallTime start{};                   ///< the same
  /// How long it may be remembered at most.
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// The rights that the master keeps in its token, in the form of `external_auth`; JSON `null` where it
  /// found none, and then the token allows nothing. Absent: the rules of the master's file count.
  std::optional<Json> auth_list{};
};

/// The check of credentials, by a back end here or by a real Salt master: guards against guessing, checks
/// once where many threads bring the same credentials, and remembers good ones for a while. Holds keyed
/// digests of credentials, no passwords; bounded. Thread-safe.
class Logins {
 public:
  /// Checks credentials. Errors: authentication, where the credentials are not good, with the cause for the
  /// log. Other errors say nothing about the credentials, but errors of kind internal, and those with
  /// `counts_as_guess`, count as a guess of a password: the check may break for wrong ones only.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// `clock` must outlive the result. With a `ttl` of 0, grants are remembered for their request only. Null
  /// `revocations`: the check knows which tokens were revoked. Errors: configuration or internal, where
  /// OpenSSL has no SHA-256 or no randomness.
  static Result<std::unique_ptr<Logins>> make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                              const Clock& clock, std::shared_ptr<store::Store> store,
                                              std::shared_ptr<RevocationList> revocations = nullptr);
  virtual ~Logins() = default;

  /// Returns the grant of these credentials: a remembered one, or the one that `check` gives now, on this
  /// thread or on another one that brought the same credentials. All logins with one `deadline` belong to one
  /// request, and its credentials are checked once. A grant that was remembered under one `stamp` answers
  /// under no other. Errors: authentication, always with the same text; throttled; unavailable, where logins
  /// keep too many threads; those of `check`; timeout, where it waited for others until `deadline`.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> login(const Credentials& credentials,
                                                                   const Check& check, SteadyTime deadline,
                                                                   std::string_view stamp) = 0;

  /// Works as `login`, but always checks: each login gets a token of its own.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> login_anew(const Credentials& credentials,
                                                                        const Check& check,
                                                                        SteadyTime deadline) = 0;

  /// Returns the grant of a token, without the guard: a browser comes back again and again with a token that
  /// has expired, and its address must not be refused for that. A token that was refused is not checked again
  /// for 5 seconds. REQUIRES: kind token.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> holder(const Credentials& credentials,
                                                                    const Check& check,
                                                                    SteadyTime deadline) = 0;

  /// Lets credentials go along with a call under the same guard; nothing is remembered. Of the errors of
  /// `try_them` only authentication is a guess, and not for a token that is known to have been good. A
  /// token's error not_found is no guess, but is answered as late. Errors: those of `login`.
  using Try = std::function<Result<void>()>;
  [[nodiscard]] virtual Result<void> guarded(const Credentials& credentials, const Try& try_them,
                                             SteadyTime deadline) = 0;

  /// Revokes a token of a master, see `RevocationList::add`. REQUIRES: kind token; there is a list.
  [[nodiscard]] virtual Result<void> log_out(const Credentials& credentials, const Grant& grant) = 0;

  /// Forgets this grant, which the master does not take any more: the next `login` checks again.
  virtual void forget(const Credentials& credentials, const Grant& grant) = 0;
};

}  // namespace rest_fcgi::auth
