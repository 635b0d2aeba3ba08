// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/secrets.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace rest_fcgi::master {
namespace {

constexpr std::string_view kSecrets[] = {
    "aes",      "accesskey",  "apikey", "authorization", "cookie",    "credential", "pass",
    "passcode", "passphrase", "passwd", "password",      "priv",      "privatekey", "privkey",
    "psk",      "pw",         "pwd",    "secret",        "secretkey", "sharedkey",  "token",
};

/// Longer names are of nothing that is known here.
constexpr std::size_t kMaxName = 128;

constexpr bool is_letter_or_digit(char byte) noexcept {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

constexpr bool is_of_name(char byte) noexcept {
  return is_letter_or_digit(byte) || byte == '_' || byte == '-' || byte == '.';
}

bool ends_with_secret(std::string_view name) {
  return !name.empty() &&
         std::any_of(std::begin(kSecrets), std::end(kSecrets), [name](std::string_view secret) {
           return name.back() == secret.back() && name.ends_with(secret);
         });
}

/// The name that stands before `end`, be it in quotes and followed by blanks.
std::string_view name_before(std::string_view text, std::size_t end) {
  constexpr std::string_view between = " \t\"'\\";
  while (end > 0 && between.find(text[end - 1]) != std::string_view::npos) --end;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kMaxName && is_of_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

}  // namespace

bool names_a_secret(std::string_view name) {
  std::string word;
  for (const char byte : name.substr(name.size() - std::min(name.size(), kMaxName))) {
    if (is_letter_or_digit(byte))
      word += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  }
  if (ends_with_secret(word)) return true;
  return word.ends_with('s') && ends_with_secret(std::string_view(word).substr(0, word.size() - 1));
}

std::size_t shown_bytes(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '=' && text[at] != ':' && text[at] != ' ') continue;
    const std::string_view name = name_before(text, at);
    if (text[at] == ' ' && !name.starts_with('-')) continue;
    if (names_a_secret(name)) return at + 1;
  }
  return text.size();
}

}  // namespace rest_fcgi::master
