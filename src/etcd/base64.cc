// SPDX-License-Identifier: MIT
#include "etcd/base64.h"

namespace rest_fcgi::etcd {
namespace {

/// Six bits; 64 for what is no character of the alphabet.
constexpr unsigned sextet(char c) noexcept {
  const auto from = [c](char first) { return static_cast<unsigned>(c - first); };
  if (c >= 'A' && c <= 'Z') return from('A');
  if (c >= 'a' && c <= 'z') return from('a') + 26;
  if (c >= '0' && c <= '9') return from('0') + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : 64;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned bits = i < text.size() - padding ? sextet(text[i]) : 0;
    if (bits > 63) return std::nullopt;
    group = group << 6U | bits;
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes.push_back(static_cast<char>(group >> shift & 255U));
    group = 0;
  }
  // Bits that the padding leaves over have to be none: one text for the same bytes.
  for (std::size_t i = 0; i < padding; ++i) {
    if (bytes.back() != '\0') return std::nullopt;
    bytes.pop_back();
  }
  return bytes;
}

}  // namespace rest_fcgi::etcd
