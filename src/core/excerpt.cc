// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/excerpt.h"

#include "rest_fcgi/core/format.h"

namespace rest_fcgi {

namespace {

constexpr std::size_t kMaxQuoted = 64;

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && continues_character(text[end])) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string quoted(std::string_view text) {
  return format("'{}'", excerpt(text, kMaxQuoted));
}

}  // namespace rest_fcgi
