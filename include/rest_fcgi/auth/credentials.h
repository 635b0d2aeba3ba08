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

/// The longest life that a caller may choose for a token. It is the largest `token_expire`, too.
inline constexpr std::chrono::seconds kLongestTokenLife{31536000};

/// The users that may choose the life of their tokens: Salt's `token_expire_user_override`.
struct TokenLifeRule {
  bool all_users = false;
  std::set<std::pair<std::string, std::string>> users;  ///< back end and user

  [[nodiscard]] bool allows(const std::string& eauth, const std::string& user) const {
    return all_users || users.contains({eauth, user});
  }
};

/// The credentials of a chunk. Borrows from the request's body. If a chunk has a token and a password, the
/// token counts, as in Salt. Value type.
struct Credentials {
  enum class Kind { none, eauth, token };
  Kind kind = Kind::none;
  std::string_view eauth;     ///< name of the back end; kind eauth only
  std::string_view username;  ///< kind eauth only
  SecretView password;        ///< kind eauth only
  SecretView token;           ///< kind token only
  /// The client's address according to the web server; empty if unknown.
  std::string_view remote{};
  /// The life that the client asks for its new token: Salt's `token_expire`.
  std::optional<std::chrono::milliseconds> token_life{};

  /// Returns whether both are equal and from the same address.
  [[nodiscard]] bool same_as(const Credentials& other) const noexcept {
    return kind == other.kind && eauth == other.eauth && username == other.username &&
           remote == other.remote && equal_in_constant_time(password.reveal(), other.password.reveal()) &&
           equal_in_constant_time(token.reveal(), other.token.reveal());
  }
};

/// Which events a user may see.
enum class EventScope {
  nothing,
  own,  ///< those of the user's own jobs
  all,
};

/// A user whose credentials were good. Only the `Authenticator` can make one, so a function that takes an
/// Identity cannot be called without a check. Value type.
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
