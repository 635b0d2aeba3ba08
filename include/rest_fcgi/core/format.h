// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace rest_fcgi {

/// The type of `format`.
struct Format {
  template <class... Args>
  std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
    return fmt::format(text, std::forward<Args>(args)...);
  }
};

/// C++20's `std::format`, which g++ 12 lacks. It is an object: with later compilers a call of a function with
/// this name would be ambiguous, because its arguments also find the function of `std`.
inline constexpr Format format;

}  // namespace rest_fcgi
