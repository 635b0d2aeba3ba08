// SPDX-License-Identifier: MIT
#include "auth/refusal.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxPassword = 1024;
constexpr std::size_t kMaxLogged = 64;

}  // namespace

std::string_view for_log(std::string_view input) {
  return input.substr(0, kMaxLogged);
}

Error refused(std::string_view stage, std::string_view cause, const Credentials& credentials) {
  if (log::enabled(log::Level::info)) {
    if (credentials.kind == Credentials::Kind::token) {
      log::info(format("authentication refused at {}: {}", stage, cause));
    } else {
      log::info(format("authentication refused at {}: {}; eauth \"{}\", user \"{}\"", stage, cause,
                       for_log(credentials.eauth), for_log(credentials.username)));
    }
  }
  return {ErrorKind::authentication, "Authorization error occurred."};
}

std::string_view beyond_limits(const Credentials& credentials) {
  const std::string_view username = credentials.username;
  const std::string_view password = credentials.password.reveal();
  if (username.empty()) return "the user name is empty";
  if (username.size() > kMaxUsername) return "the user name is longer than 256 bytes";
  if (password.size() > kMaxPassword) return "the password is longer than 1024 bytes";
  if (username.find('\0') != std::string_view::npos) return "the user name holds a NUL";
  if (password.find('\0') != std::string_view::npos) return "the password holds a NUL";
  return {};
}

LoginGuard::Who who_of(const Credentials& credentials) {
  const bool token = credentials.kind == Credentials::Kind::token;
  return {token ? std::string_view() : credentials.username, credentials.remote};
}

}  // namespace rest_fcgi::auth
