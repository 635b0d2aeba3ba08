// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded {

/// Reads text that was written out of values which were read before, and so passed all limits then, though
/// they may lie a little deeper now. Errors: internal, where it cannot be read all the same.
Result<void> parse_copied(JsonDocument& document, std::string_view text);

}  // namespace rest_fcgi::embedded
