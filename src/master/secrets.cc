// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/secrets.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::master {
namespace {

constexpr std::string_view kSecrets[] = {
    "aes",      "accesskey",  "apikey", "authorization", "cookie",    "credential", "pass",
    "passcode", "passphrase", "passwd", "password",      "priv",      "privatekey", "privkey",
    "psk",      "pw",         "pwd",    "secret",        "secretkey", "sharedkey",  "token",
};

/// Longer names are of nothing that is known here.
constexpr std::size_t kMaxName = 128;

constexpr bool is_of_name(char byte) noexcept {
  return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-' || byte == '.';
}

bool ends_with_secret(std::string_view name) {
  return !name.empty() &&
         std::any_of(std::begin(kSecrets), std::end(kSecrets), [name](std::string_view secret) {
           return name.back() == secret.back() && name.ends_with(secret);
         });
}

}  // namespace

bool names_a_secret(std::string_view name) {
  std::string word;
  for (const char byte : name.substr(name.size() - std::min(name.size(), kMaxName))) {
    if (is_letter(byte) || is_digit(byte)) word += lower(byte);
  }
  if (ends_with_secret(word)) return true;
  return word.ends_with('s') && ends_with_secret(std::string_view(word).substr(0, word.size() - 1));
}

/// A text may be large, and somebody may have made it for this: each byte is looked at once, and each name at
/// most twice.
std::size_t shown_bytes(std::string_view text) {
  constexpr std::string_view between = " \t\"'\\";
  std::size_t begin = 0;  // of the name that came last, with nothing but blanks and quotes behind it
  std::size_t end = 0;
  bool is_asked = false;  // it was looked at when the first blank came
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (is_of_name(byte)) {
      if (end < at) begin = at;
      end = at + 1;
      is_asked = false;
      continue;
    }
    const std::string_view name = text.substr(begin, end - begin);
    const bool gives = byte == '=' || byte == ':' ||
                       (byte == ' ' && !std::exchange(is_asked, true) && name.starts_with('-'));
    if (gives && names_a_secret(name)) return at + 1;
    if (between.find(byte) == std::string_view::npos) begin = end = at + 1;
  }
  return text.size();
}

}  // namespace rest_fcgi::master
