// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/log.h"

/// Names that people write, and mistype.
namespace rest_fcgi::config {

/// Those of `names` that are close to `word`, the closest first; at most three.
[[nodiscard]] std::vector<std::string> near_names(std::string_view word,
                                                  const std::vector<std::string>& names);

[[nodiscard]] std::string joined(const std::vector<std::string>& names, std::string_view separator);

/// A log level by Salt's name, in upper or lower case.
[[nodiscard]] std::optional<log::Level> level_of(std::string_view name);
inline constexpr std::string_view kLogLevels =
    "all, garbage, trace, debug, profile, info, warning, error, critical or quiet";

/// Does `address` have the form of an address to listen on? Whether it can be had shows when it is opened.
[[nodiscard]] bool is_listen_address(std::string_view address);
inline constexpr std::string_view kListenAddresses = "unix:PATH, tcp:HOST:PORT or fd:0";

}  // namespace rest_fcgi::config
