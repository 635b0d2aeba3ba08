// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The tokens of a Salt master that were revoked, in the tables `revoked_token` and `revoked_user`. The
/// master has no command to revoke a token. A row is removed when its tokens have expired. The tables have
/// hashes of tokens. Thread-safe, also between processes. Errors of all calls: unavailable.
class RevocationList {
 public:
  /// `clock` must outlive the object.
  RevocationList(std::shared_ptr<store::Store> store, const Clock& clock);

  /// Returns whether this token was revoked.
  [[nodiscard]] Result<bool> has(SecretView token) const;

  /// Returns whether the tokens of this user that started at `start` were revoked.
  [[nodiscard]] Result<bool> has_user(std::string_view eauth, std::string_view name, WallTime start) const;

  /// Revokes a token, which expires at `expire`. After return the revocation survives a power cut.
  [[nodiscard]] Result<void> add(SecretView token, WallTime expire);

  /// Revokes all tokens of a user that started until `made_until`: those of one back end, or of all if
  /// `eauth` is empty. After return the revocation survives a power cut.
  [[nodiscard]] Result<void> add_user(std::string_view eauth, std::string_view name, WallTime made_until);

 private:
  const std::shared_ptr<store::Store> store_;
  store::Store::Registration cleaning_;  // ends first
};

}  // namespace rest_fcgi::auth
