// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// Appends `bytes` to `text` in base64 with padding (RFC 4648, section 4).
inline void append_base64(std::string& text, std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (; !bytes.empty(); bytes.remove_prefix(bytes.size() < 3 ? bytes.size() : 3)) {
    const auto at = [bytes](std::size_t i) -> unsigned {
      return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
    };
    const unsigned group = at(0) << 16U | at(1) << 8U | at(2);
    text.push_back(kAlphabet[group >> 18U]);
    text.push_back(kAlphabet[group >> 12U & 63U]);
    text.push_back(bytes.size() > 1 ? kAlphabet[group >> 6U & 63U] : '=');
    text.push_back(bytes.size() > 2 ? kAlphabet[group & 63U] : '=');
  }
}

/// Decodes base64 as Python does: ignores characters outside the alphabet, and all characters after the
/// padding. Returns std::nullopt if padding or the last byte is incomplete.
[[nodiscard]] std::optional<std::string> decoded_base64(std::string_view text);

/// Decodes base64 in the form that `append_base64` writes. Returns std::nullopt for any other text.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace rest_fcgi
