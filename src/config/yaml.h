// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "config/tree.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::config {

/// Reads one YAML document as Salt's loader does: anchors, aliases and `<<` work, a key that stands twice in
/// one map is a mistake. `file` is for messages. Empty text is null. Errors: configuration, `FILE:LINE: what
/// is wrong`.
[[nodiscard]] Result<Node> parse_yaml(const std::string& file, std::string_view text);

}  // namespace rest_fcgi::config
