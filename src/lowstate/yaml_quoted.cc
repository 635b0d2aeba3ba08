// SPDX-License-Identifier: MIT
#include "lowstate/yaml_quoted.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace rest_fcgi::lowstate {
namespace {

/// REQUIRES: a Unicode scalar value.
void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

/// The character that a one-letter escape stands for.
std::optional<std::uint32_t> simple_escape(char letter) {
  constexpr std::string_view letters = "0abtnvfre \"/\\N_LP";
  constexpr std::array<std::uint32_t, letters.size()> codes = {
      0, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B, 0x20, 0x22, 0x2F, 0x5C, 0x85, 0xA0, 0x2028, 0x2029};
  const std::size_t index = letters.find(letter);
  if (index == std::string_view::npos) return std::nullopt;
  return codes[index];
}

std::size_t hex_digits(char letter) {
  return letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

/// Reads what stands behind a backslash.
bool append_escape(std::string& out, std::string_view text, std::size_t& at) {
  if (at == text.size()) return false;
  const char letter = text[at++];
  if (const auto code = simple_escape(letter)) {
    append_utf8(out, *code);
    return true;
  }
  const std::string_view digits = text.substr(at, hex_digits(letter));
  if (digits.empty() || digits.size() != hex_digits(letter)) return false;
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
  append_utf8(out, code);
  at += digits.size();
  return true;
}

}  // namespace

std::optional<std::string> parse_quoted(std::string_view text, std::size_t& at) {
  const char quote = text[at++];
  std::string out;
  while (at < text.size()) {
    const char c = text[at++];
    if (c == quote) {
      const bool doubled = quote == '\'' && at < text.size() && text[at] == quote;
      if (!doubled) return out;
      ++at;
      out += quote;
    } else if (c == '\\' && quote == '"') {
      if (!append_escape(out, text, at)) return std::nullopt;
    } else {
      out += c;
    }
  }
  return std::nullopt;
}

}  // namespace rest_fcgi::lowstate
