// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "master/salt/callers.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::salt {

/// Sessions are the master's tokens. It makes them (`mk_token`), says who holds one (`get_token`, remembered
/// for `auth_cache_ttl` and asked once where many bring the same), and has no command to end one: so what was
/// logged out is remembered by `auth::LoggedOut`, and the master's file of it is removed where this user may.
/// Thread-safe.
class Sessions {
 public:
  /// Borrows `callers` and `permissions`. `token_dir`: the master's own, where its tokens lie as files.
  Sessions(const Callers& callers, const auth::Permissions& permissions, std::string token_dir)
      : callers_(callers), permissions_(permissions), token_dir_(std::move(token_dir)) {}

  // As those of `master::Master`.
  [[nodiscard]] Result<master::Session> login(const auth::Credentials& credentials,
                                              SteadyTime deadline) const;
  [[nodiscard]] Result<master::Session> find(SecretView token, SteadyTime deadline) const;
  [[nodiscard]] Result<void> logout(SecretView token, SteadyTime deadline) const;

 private:
  [[nodiscard]] Result<master::Session> session_of(const Result<Callers::GrantPtr>& grant) const;

  const Callers& callers_;
  const auth::Permissions& permissions_;
  const std::string token_dir_;
};

/// Removes the file of a token, so that its master does not take it any more, from whomever it comes. The
/// token's text is the file's name, with `.p` behind it in 3008, so a text that is not hexadecimal digits
/// alone names no file. Follows no link. Errors: unavailable, with why it stays, for the log.
[[nodiscard]] Result<void> remove_token_file(const std::string& token_dir, std::string_view token);

}  // namespace rest_fcgi::salt
