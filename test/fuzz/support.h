// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::fuzz {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

/// Checks that an error message is neither empty nor long. Does not check for UTF-8, because the server
/// replaces malformed UTF-8 in messages later.
inline void require_sentence(const Error& error, std::size_t most = 1000) {
  require(!error.message.empty(), "an error says nothing");
  require(error.message.size() <= most, "an error is longer than a sentence");
}

inline void require_json(std::string_view text) {
  JsonDocument document;
  require(static_cast<bool>(document.parse(text, JsonLimits::none())), "this is no JSON");
}

inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

inline std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  return {line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))};
}

/// Returns a size in bytes. A fuzz target reads its input once as a whole and once in pieces of this size.
inline std::size_t step_for(std::string_view input) {
  return 1 + input.size() % 7;
}

}  // namespace rest_fcgi::fuzz
