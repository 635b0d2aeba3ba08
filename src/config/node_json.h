// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "config/mistakes.h"
#include "config/tree.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::config {

/// A value as Salt would send it: dates are text, keys are text. A number that JSON or 64 bits cannot hold is
/// a mistake of `key`.
[[nodiscard]] Json to_json(const Node& node, std::string_view key, Mistakes& mistakes);

}  // namespace rest_fcgi::config
