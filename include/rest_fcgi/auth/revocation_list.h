// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The revoked tokens of a Salt master. The list exists because the master has no command to revoke a token.
/// The tables `revoked_token` and `revoked_user` hold hashes of tokens. A row is removed when its tokens have
/// expired. Thread-safe, also between processes. Errors of all calls: unavailable.
class RevocationList {
 public:
  /// Makes a list in the tables of `store`. `clock` must outlive the list.
  RevocationList(std::shared_ptr<store::Store> store, const Clock& clock);

  /// Returns whether this token was revoked.
  [[nodiscard]] Result<bool> has(SecretView token) const;

  /// Returns whether the tokens of this user that were made at `start` were revoked.
  [[nodiscard]] Result<bool> has_user(std::string_view eauth, std::string_view name, WallTime start) const;

  /// Revokes a token, which expires at `expire`. After return the revocation survives a power cut.
  [[nodiscard]] Result<void> add(SecretView token, WallTime expire);

  /// Revokes all tokens of a user that were made until `made_until`. If `eauth` is empty, this concerns all
  /// back ends. After return the revocation survives a power cut.
  [[nodiscard]] Result<void> add_user(std::string_view eauth, std::string_view name, WallTime made_until);

 private:
  const std::shared_ptr<store::Store> store_;
  store::Store::Registration cleaning_;  // destroyed first, so that the task ends before the other members
};

}  // namespace rest_fcgi::auth
