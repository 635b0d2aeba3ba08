// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/text.h"

#include <algorithm>
#include <cstddef>

namespace rest_fcgi {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace

std::string_view stripped(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = text.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<std::string_view> split(std::string_view text, std::string_view delimiter) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(delimiter); end != std::string_view::npos; end = text.find(delimiter)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

std::optional<char> percent_byte(std::string_view text) noexcept {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto byte = parse_number<unsigned char>(text.substr(1, 2), 16);
  return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
}

std::string percent_decoded(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const auto byte = percent_byte(text.substr(at))) {
      out += *byte;
      at += 2;
    } else {
      out += text[at] == '+' && plus == Plus::blank ? ' ' : text[at];
    }
  }
  return out;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter(c) || is_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos ||
        kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

}  // namespace rest_fcgi
