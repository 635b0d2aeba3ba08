// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "rest_fcgi/core/json.h"

namespace rest_fcgi::lowstate {

/// Reads YAML that stands in quotes or brackets, which is how people write keyword arguments: `"two"`, `[a,
/// 1]`,
/// `{a: 1, b: [x]}`. JSON is all but a part of it. Absent where the whole of `text` is no such value, where a
/// key comes twice or is no scalar, and where it is nested deeper than 100.
[[nodiscard]] std::optional<Json> parse_yaml_flow(std::string_view text);

}  // namespace rest_fcgi::lowstate
