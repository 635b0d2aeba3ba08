// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/pam_wire.h"

#include <algorithm>

namespace rest_fcgi::auth::pam {
namespace {

constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxService = 64;

}  // namespace

bool is_username(std::string_view text) {
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '/' || c == ':' || c == ',';
  };
  if (text.empty() || text.size() > kMaxUsername || text == "." || text == "..") return false;
  if (std::string_view(" -+~").find(text.front()) != std::string_view::npos) return false;
  return std::none_of(text.begin(), text.end(), is_odd);
}

bool is_service(std::string_view text) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !text.empty() && text.size() <= kMaxService && text.front() != '.' && text.front() != '-' &&
         text.find_first_not_of(kPlain) == std::string_view::npos;
}

}  // namespace rest_fcgi::auth::pam
