// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// The longest life of a token that a caller may choose, and the largest value of `token_expire`.
inline constexpr std::chrono::seconds kLongestTokenLife{31536000};

/// The users that may choose how long their tokens are valid: Salt's `token_expire_user_override`.
struct TokenLifeRule {
  bool all_users = false;
  std::set<std::pair<std::string, std::string>> users;  ///< pairs of back end and user name

  [[nodiscard]] bool allows(const std::string& eauth, const std::string& user) const {
    return all_users || users.contains({eauth, user});
  }
};

/// The credentials of a chunk: a token, or a user name and a password. If a chunk has a token and a password,
/// the token is used, as in Salt. Borrows from the request's body. Value type.
struct Credentials {
  enum class Kind { none, eauth, token };
  Kind kind = Kind::none;
  std::string_view eauth;     ///< name of the back end; set for the kind eauth only
  std::string_view username;  ///< name of the user; set for the kind eauth only
  SecretView password;        ///< the password; set for the kind eauth only
  SecretView token;           ///< the token; set for the kind token only
  /// The client's address according to the web server; empty if unknown.
  std::string_view remote{};
  /// The life that the client wants for its new token: Salt's `token_expire`.
  std::optional<std::chrono::milliseconds> token_life{};

  /// Returns whether `other` has equal credentials from the same address.
  [[nodiscard]] bool same_as(const Credentials& other) const noexcept {
    return kind == other.kind && eauth == other.eauth && username == other.username &&
           remote == other.remote && equal_in_constant_time(password.reveal(), other.password.reveal()) &&
           equal_in_constant_time(token.reveal(), other.token.reveal());
  }
};

/// The events that a user may see.
enum class EventScope {
  nothing,
  own,  ///< the events of the user's own jobs
  all,
};

/// A user whose credentials were checked. Only the `Authenticator` can make an Identity, so a function with
/// an Identity parameter cannot be called before the check. Value type.
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
