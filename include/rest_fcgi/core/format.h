// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <fmt/core.h>

namespace rest_fcgi {

/// C++20's `std::format`, which g++ 12 does not have yet. For errors and the log: the compiler takes what
/// leads here for unlikely, and puts it out of the way of what answers requests.
template <class... Arguments>
[[gnu::cold]] std::string format(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return fmt::vformat(text, fmt::make_format_args(arguments...));
}

}  // namespace rest_fcgi
