// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::master {

/// Checks an event before it is fired, whatever the engine, and gives its data for reading: an object. A tag
/// is 1 to 512 bytes of UTF-8 without control characters: a line end in one would part it from its data on
/// Salt's event bus, or put a line of the caller's into somebody's event stream. Errors: invocation, naming
/// what was found.
[[nodiscard]] Result<JsonDocument> check_event(std::string_view tag, const Json& data);

}  // namespace rest_fcgi::master
