// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The tokens of a Salt master that were revoked, until they would have expired. The master has no command to
/// revoke a token. The list is in the store; each process has a copy in memory, and reads what other
/// processes added once a second. It has hashes of tokens only. Thread-safe.
class RevocationList {
 public:
  /// Reads the list. `clock` must outlive the result. Errors: unavailable.
  [[nodiscard]] static Result<std::shared_ptr<RevocationList>> make(std::shared_ptr<store::Store> store,
                                                                    const Clock& clock);
  virtual ~RevocationList() = default;

  /// Returns whether this token was revoked.
  [[nodiscard]] virtual bool has(SecretView token) const = 0;

  /// Returns whether the tokens of this user that started at `start` were revoked.
  [[nodiscard]] virtual bool has_user(std::string_view eauth, std::string_view name,
                                      WallTime start) const = 0;

  /// Revokes a token, which expires at `expire`. Errors: unavailable.
  [[nodiscard]] virtual Result<void> add(SecretView token, WallTime expire) = 0;

  /// Revokes all tokens of a user that started until `made_until`, those of all back ends where `eauth` is
  /// empty. Errors: unavailable.
  [[nodiscard]] virtual Result<void> add_user(std::string_view eauth, std::string_view name,
                                              WallTime made_until) = 0;
};

}  // namespace rest_fcgi::auth
