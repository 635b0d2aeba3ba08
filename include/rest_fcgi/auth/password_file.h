// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

struct UserChange {
  bool is_new = false;  ///< If true, the user is added. If false, the user gets another password.
  std::string_view user;
  gid_t group = 0;  ///< `group` is the group that may read the file, if the file does not exist yet.
};

/// Writes the line of a user in the file of `external_auth: file: ^filename`, with the hash of the password
/// that `ask` returns. Replaces the file at once, with its owner and mode. Calls `ask` after all checks.
/// Returns the path of the file. Errors: configuration, if `external_auth` has no such file, if the file
/// already has a new user, or lacks another user; internal, if the file cannot be written; the errors of
/// `ask` and `crypt_hash`.
Result<std::string> write_user(const Options& options, const UserChange& change,
                               const std::function<Result<Secret>()>& ask);

}  // namespace rest_fcgi::auth
