// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "rest_fcgi/core/secret.h"

/// The protocol between rest_fcgi and its helper rest_fcgi_pam over a stream socket. One connection is for
/// one login. rest_fcgi sends the name of the PAM service, the user name and the client's address, each with
/// a newline, and then the password up to the end of the stream. If the user name is empty, the helper only
/// checks whether logins with the PAM service can work. The helper sends an Outcome, then the user's groups
/// or the reason as lines, and ends. An exit status would not do, because systemd may be the helper's parent.
namespace rest_fcgi::auth::pam {

inline constexpr std::size_t kMaxRequest = 8192;     ///< The largest size of a request in bytes.
inline constexpr std::size_t kMaxReply = 64 * 1024;  ///< The largest size of a reply in bytes.

struct LoginRequest {
  std::string_view service;
  std::string_view username{};
  SecretView password{};
  std::string_view remote{};
};

enum class Outcome : char {
  good = 'g',
  refused = 'r',      ///< `refused` means that PAM refused the login.
  failed = 'f',       ///< `failed` means that PAM or the helper does not work.
  unavailable = 'u',  ///< `unavailable` means that a service that PAM needs does not answer now.
};

/// Returns whether the text is safe as a user name for PAM. Some characters are not safe, because PAM modules
/// write the name into logs and use it in file names.
[[nodiscard]] bool is_username(std::string_view text);

[[nodiscard]] bool is_service(std::string_view text);

}  // namespace rest_fcgi::auth::pam
