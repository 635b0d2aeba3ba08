// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/excerpt.h"

#include "rest_fcgi/core/format.h"

namespace rest_fcgi {

namespace {

constexpr std::size_t kMaxQuoted = 64;

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto within = [&byte](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const auto tail = [&within](std::size_t i) { return within(i, 0x80, 0xBF); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first == 0xE0) return within(1, 0xA0, 0xBF) && tail(2) ? 3 : 0;
  if (first == 0xED) return within(1, 0x80, 0x9F) && tail(2) ? 3 : 0;
  if (first >= 0xE1 && first <= 0xEF) return tail(1) && tail(2) ? 3 : 0;
  if (first == 0xF0) return within(1, 0x90, 0xBF) && tail(2) && tail(3) ? 4 : 0;
  if (first >= 0xF1 && first <= 0xF3) return tail(1) && tail(2) && tail(3) ? 4 : 0;
  if (first == 0xF4) return within(1, 0x80, 0x8F) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

std::size_t first_bad_byte(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string quoted_excerpt(std::string_view text) {
  return format("'{}'", excerpt(text, kMaxQuoted));
}

}  // namespace rest_fcgi
