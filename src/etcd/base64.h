// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Base64 as the gateway wants it: RFC 4648, section 4, with padding and without line breaks.
namespace rest_fcgi::etcd {

/// How many characters `size` bytes become.
[[nodiscard]] constexpr std::size_t base64_size(std::size_t size) noexcept {
  return (size + 2) / 3 * 4;
}

/// Appends `bytes` to any text that has `push_back`, such as one that is wiped.
template <class Text>
void append_base64(Text& text, std::string_view bytes) {
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

/// Absent where `text` is not exactly what `append_base64` writes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace rest_fcgi::etcd
