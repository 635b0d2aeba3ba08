// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/tree.h"

/// Scalars that are written without quotes, as PyYAML's safe loader with Salt's changes reads them.
namespace rest_fcgi::config {

/// What `text`, written without quotes, stands for: null, boolean, integer, real or string.
[[nodiscard]] Kind kind_of_plain(std::string_view text);

/// REQUIRES: kind_of_plain(text) == Kind::boolean.
[[nodiscard]] bool to_boolean(std::string_view text);

/// An integer's value: decimal (with leading zeros, too: Salt's own rule), `0x`, `0b`, sexagesimal `1:30`;
/// absent where it does not fit 64 bits. REQUIRES: kind_of_plain(text) == Kind::integer.
[[nodiscard]] std::optional<std::int64_t> to_integer(std::string_view text);

/// The value of an integer or real, `.inf` and `.nan` included. REQUIRES: kind_of_plain(text) is one of
/// these.
[[nodiscard]] double to_real(std::string_view text);

}  // namespace rest_fcgi::config
