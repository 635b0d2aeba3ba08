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

namespace rest_fcgi::auth {

class LoggedOut;

/// What whoever checked credentials gave for them. Immutable once made; shared.
struct Grant {
  std::string name;   ///< the user
  std::string eauth;  ///< the back end that knows them
  std::vector<std::string> groups{};
  Secret token{};  ///< a master's, which stands for the credentials in what follows; may be empty
  WallTime expire = WallTime::max();  ///< of the token, by the clock of who made it
  WallTime start{};                   ///< the same
  /// How long it may be remembered at most.
  std::chrono::seconds keep = std::chrono::seconds::max();
  /// The rights that the master keeps in its token, in the form of `external_auth`; JSON `null` where it
  /// found none, and then the token allows nothing. Absent: the rules of the master's file count.
  std::optional<Json> auth_list{};
};

/// What of logins is one in a process and outlives a reload: the counts of failed ones, and the gate in front
/// of hashes of passwords. Opaque; thread-safe.
struct LoginMemory;

/// Errors: configuration or internal, for a guard's file that was chosen and cannot be had; a default one
/// that cannot is a line in the log, and this process counts alone.
Result<std::shared_ptr<const LoginMemory>> open_login_memory(const LoginGuardOptions& options);

/// In whose line somebody stands who comes from an address and has to wait: an IPv4 address, the 48-bit
/// network of an IPv6 address, or what is no address as it is.
[[nodiscard]] std::string line_of(std::string_view remote);

/// The latest time that anybody saw who counts failures in the guard's file: by a clock that was set back
/// since by a day at most, else now. Changes nothing. Errors: configuration, where no such file can be read.
Result<WallTime> latest_time(const LoginGuardOptions& guard, const Clock& clock);

/// The one way in for credentials, whoever checks them, a back end here or a real Salt master: guards against
/// guessing, asks once where many threads bring the same credentials, and remembers for a while what good
/// ones were given. Holds keyed digests of credentials, no passwords; successes only; bounded. Thread-safe.
class Logins {
 public:
  /// Asks whoever decides. Errors: authentication, where the credentials are not good, with the cause for the
  /// log; all else is a failure that says nothing about them, though one of kind internal, and one that says
  /// `counts_as_guess`, counts as a guess of a password: whoever decides may break for wrong ones alone.
  using Check = std::function<Result<Grant>(const Credentials&)>;

  /// `clock` has to outlive it. A `ttl` of 0: nothing is remembered beyond a request. `logged_out` has the
  /// tokens that are not good any more, whoever decides; null: whoever decides knows that. Errors:
  /// configuration or internal, where OpenSSL has no SHA-256 or no randomness.
  static Result<std::unique_ptr<Logins>> make(const LoginGuardOptions& guard, std::chrono::seconds ttl,
                                              const Clock& clock, std::shared_ptr<const LoginMemory> memory,
                                              std::shared_ptr<LoggedOut> logged_out = nullptr);
  virtual ~Logins() = default;

  /// What stands for these credentials: remembered, or asked for now with `check`, which is called on this
  /// thread or on another one that brought the same credentials: then this one gets what that one gets, and
  /// counts for nothing with the guard. All logins with one `deadline` are taken for one request's: whatever
  /// `ttl` is, its credentials are asked about once. Another `stamp` is another question: nothing
  /// that was remembered under one answers under another. Errors: authentication, always with the same text;
  /// throttled; unavailable, where logins keep too many threads; those of `check`; timeout, where it waited
  /// for others until `deadline`.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> login(const Credentials& credentials,
                                                                   const Check& check, SteadyTime deadline,
                                                                   std::string_view stamp) = 0;

  /// As `login`, under the same guard, but always asked for: whoever logs in gets something of their own.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> login_anew(const Credentials& credentials,
                                                                        const Check& check,
                                                                        SteadyTime deadline) = 0;

  /// Who holds a token: as `login`, but without the guard. Nobody guesses a token; but a browser comes back
  /// again and again with one that has expired, and its address must not be refused for that. A token that
  /// was refused is not asked about for 5 seconds. REQUIRES: kind token.
  [[nodiscard]] virtual Result<std::shared_ptr<const Grant>> holder(const Credentials& credentials,
                                                                    const Check& check,
                                                                    SteadyTime deadline) = 0;

  /// Lets credentials go along with a call under the same guard; nothing is remembered, and each try is one.
  /// Of the errors of `try_them` only authentication is a guess, and of a token that is known to have been
  /// good not that. What is not_found is no guess, but a token's is answered as late. Errors: those of
  /// `login`.
  using Try = std::function<Result<void>()>;
  [[nodiscard]] virtual Result<void> guarded(const Credentials& credentials, const Try& try_them,
                                             SteadyTime deadline) = 0;

  /// Ends a token of whoever decides: none of these calls takes it from now on, see `LoggedOut::add` for
  /// where, and for the errors. REQUIRES: kind token; there is a `LoggedOut`.
  [[nodiscard]] virtual Result<void> log_out(const Credentials& credentials, const Grant& grant) = 0;

  /// Whoever gave it no longer takes it: the next `login` asks again. Forgets nothing newer.
  virtual void forget(const Credentials& credentials, const Grant& grant) = 0;
};

}  // namespace rest_fcgi::auth
