// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rest_fcgi::test {

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace rest_fcgi::test
