// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace rest_fcgi {

struct Format {
  template <class... Args>
  std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
    return fmt::format(text, std::forward<Args>(args)...);
  }
};

/// Replaces C++20's `std::format`, which g++ 12 lacks. `format` is an object, because calls of a function
/// with this name would also find `std::format`.
inline constexpr Format format;

}  // namespace rest_fcgi
