// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

inline constexpr std::chrono::seconds kLongestTokenLife{31536000};

/// Salt's `token_expire_user_override`: the users that may choose how long their tokens are valid.
struct TokenLifeRule {
  bool all_users = false;
  std::set<std::pair<std::string, std::string>> users;  ///< The listed users as pairs of back end and name.

  [[nodiscard]] bool allows(const std::string& eauth, const std::string& user) const {
    return all_users || users.contains({eauth, user});
  }
};

class Identity;

/// The credentials in one chunk (command) of a request. As in Salt, a token takes precedence over a password.
/// Borrows from the request's body.
struct Credentials {
  enum class Kind { none, eauth, token };
  Kind kind = Kind::none;
  std::string_view eauth;  ///< The name of the back end, if `kind` is `eauth`.
  std::string_view username;
  SecretView password;
  /// A session's token, if `kind` is `token`. In a login, the token that the back end checks, such as an
  /// OpenID token; the password may then be empty.
  SecretView token;
  /// The user of a session's token, if the engine has checked the token in this request. Otherwise null.
  const Identity* holder = nullptr;
  /// The client's address according to the web server. Empty if unknown.
  std::string_view remote{};
  /// The lifetime that the client wants for a new token, from the key `token_expire` of the request.
  std::optional<std::chrono::milliseconds> token_life{};
  /// When the program began to answer the request. A check of these credentials that ended later counts for
  /// the whole request. With the default, only `auth_cache_ttl` decides whether an earlier check counts.
  SteadyTime request_start = SteadyTime::max();

  [[nodiscard]] bool same_as(const Credentials& other) const noexcept {
    return kind == other.kind && eauth == other.eauth && username == other.username &&
           remote == other.remote && equal_in_constant_time(password.reveal(), other.password.reveal()) &&
           equal_in_constant_time(token.reveal(), other.token.reveal());
  }
};

enum class EventScope {
  nothing,
  own,  ///< The events of the user's own jobs.
  all,
};

/// A user whose credentials were checked. Only the `Authenticator` can make an Identity.
class Identity {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }
  [[nodiscard]] const std::vector<std::string>& groups() const noexcept { return groups_; }

 private:
  friend class Authenticator;
  Identity(std::string name, std::string eauth, std::vector<std::string> groups)
      : name_(std::move(name)), eauth_(std::move(eauth)), groups_(std::move(groups)) {}

  std::string name_;
  std::string eauth_;
  std::vector<std::string> groups_;
};

}  // namespace rest_fcgi::auth
