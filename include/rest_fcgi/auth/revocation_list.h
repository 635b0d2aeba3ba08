// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::auth {

/// The revoked tokens of a Salt master. The list is needed because the master has no command to revoke a
/// token. The store keeps the tokens' hashes until the tokens expire. A RevocationList is thread-safe, and
/// processes share its tables. Errors of all calls: unavailable.
class RevocationList {
 public:
  RevocationList(std::shared_ptr<store::Store> store, const Clock& clock);

  Result<bool> has(SecretView token) const;

  /// Returns whether `add_user` has revoked a token that this user got at `start`.
  Result<bool> has_user(std::string_view eauth, std::string_view name, WallTime start) const;

  /// Revokes a token. `expire` is the time at which the token expires. The revocation survives a power cut.
  Result<void> add(SecretView token, WallTime expire);

  /// Revokes all tokens that the user got until the time `made_until`. An empty `eauth` means all back ends.
  /// The revocation survives a power cut.
  Result<void> add_user(std::string_view eauth, std::string_view name, WallTime made_until);

 private:
  const std::shared_ptr<store::Store> store_;
  // Each second, a task of the store removes expired rows. The destructor of `cleaning_` waits for the task,
  // and runs before the destructor of `store_`, which the task uses.
  store::Store::Registration cleaning_;
};

}  // namespace rest_fcgi::auth
