// SPDX-License-Identifier: MIT
#include "netapi/content_type.h"

#include <algorithm>

namespace rest_fcgi::netapi {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes off what stands before the next semicolon outside of quotes, and that semicolon.
std::string_view take_part(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < rest.size() && (quoted || rest[end] != ';')) {
    if (rest[end] == '"') quoted = !quoted;
    if (quoted && rest[end] == '\\') ++end;
    ++end;
  }
  end = std::min(end, rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

std::string_view without_quotes(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2)
                                                                          : value;
}

}  // namespace

bool is_json(std::string_view content_type) {
  if (!equal_ignoring_case(take_part(content_type), "application/json")) return false;
  while (!content_type.empty()) {
    const std::string_view parameter = take_part(content_type);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || !equal_ignoring_case(parameter.substr(0, equals), "charset"))
      continue;
    if (!equal_ignoring_case(without_quotes(parameter.substr(equals + 1)), "utf-8")) return false;
  }
  return true;
}

}  // namespace rest_fcgi::netapi
