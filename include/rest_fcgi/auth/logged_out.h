// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Tokens that were logged out, until they would have expired: for tokens that somebody else keeps, a real
/// Salt master, who knows no command to end one. It holds hashes, no tokens. Thread-safe; with a file it is
/// shared by all processes of this user that open the same one, and lives through restarts.
///
/// It is a table of fixed size: 2^21 tokens in a sparse file of 32 MiB, some 500,000 of them before the first
/// one may find no room, which a master that makes 10 tokens a second with 12 hours of life each does not
/// reach. Where there is no room a logout fails; nothing that is remembered ever goes before its time.
class LoggedOut {
 public:
  /// `clock` has to outlive it. Without a file, and where a default one cannot be had, which the log says,
  /// this process remembers alone. Errors: configuration, for a file that was chosen and cannot be had, or
  /// that others could write to; internal.
  static Result<std::shared_ptr<LoggedOut>> make(const LoggedOutOptions& options, const Clock& clock);
  virtual ~LoggedOut() = default;

  /// Was it logged out? Reads 1 KiB of the file. Errors: internal, where that cannot be done: then nobody
  /// knows whether the token is good.
  [[nodiscard]] virtual Result<bool> has(SecretView token) const = 0;

  /// From now on it has it, in all processes, until `expire`; on the disk when this returns. Errors:
  /// unavailable, where there is no room, or no room on the disk.
  [[nodiscard]] virtual Result<void> add(SecretView token, WallTime expire) = 0;

  /// Were all tokens of this user ended at `start` or later, those of this back end or of all? So they were,
  /// once any were, where `start` is more than a day ahead: the clock was set back since. What was ended by a
  /// clock that was as far ahead is taken to have ended now. As `has`.
  [[nodiscard]] virtual Result<bool> has_ended(std::string_view eauth, std::string_view name,
                                               WallTime start) = 0;

  /// Ends all tokens of a user that were made up to `until`, those of all back ends where `eauth` is empty.
  /// It is remembered for 400 days, which no token outlives; a later end takes the place of the one before.
  /// Errors: as `add`.
  [[nodiscard]] virtual Result<void> end_all(std::string_view eauth, std::string_view name,
                                             WallTime until) = 0;
};

}  // namespace rest_fcgi::auth
