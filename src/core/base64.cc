// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/base64.h"

#include <cstddef>

namespace rest_fcgi {
namespace {

constexpr unsigned sextet(char c) noexcept {
  const auto from = [c](char first) { return static_cast<unsigned>(c - first); };
  if (c >= 'A' && c <= 'Z') return from('A');
  if (c >= 'a' && c <= 'z') return from('a') + 26;
  if (c >= '0' && c <= '9') return from('0') + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : 64;
}

}  // namespace

std::optional<std::string> decoded_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    const unsigned digit = sextet(c);
    if (c == '=') ++padding;
    if (digit > 63 || padding != 0) continue;
    group = group << 6U | digit;
    if (++digits % 4 != 1) {
      const auto shift = static_cast<unsigned>(6 - 2 * ((digits - 1) % 4));
      bytes.push_back(static_cast<char>(group >> shift & 0xFFU));
    }
  }
  const std::size_t missing = (4 - digits % 4) % 4;
  if (missing == 3 || padding < missing) return std::nullopt;
  return bytes;
}

std::optional<std::string> from_base64(std::string_view text) {
  auto bytes = decoded_base64(text);
  std::string again;
  append_base64(again, bytes.value_or(std::string()));
  return again == text ? bytes : std::nullopt;
}

}  // namespace rest_fcgi
