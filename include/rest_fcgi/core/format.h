// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace rest_fcgi {

/// The type of the function object `format`.
struct Format {
  template <class... Args>
  std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
    return fmt::format(text, std::forward<Args>(args)...);
  }
};

/// Replaces C++20's `std::format`, which g++ 12 lacks. `format` is an object and not a function, because with
/// later compilers a call of the function could also mean `std::format` and would be ambiguous.
inline constexpr Format format;

}  // namespace rest_fcgi
