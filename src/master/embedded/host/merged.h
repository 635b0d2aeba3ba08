// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded {

/// Writes `over` laid over `base`, both objects, member by member and as deep as both have objects there;
/// lists are joined without repeats where `merge_lists`, and else replaced (salt.utils.dictupdate.update).
void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists);

/// Writes the elements of `base`, then those of `over` that `base` has not.
void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over);

}  // namespace rest_fcgi::embedded
