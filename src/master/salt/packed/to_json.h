// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"

/// msgpack into JSON text, in one pass and without a tree. Source: what `salt.utils.json.dumps` writes for
/// the data of a master's events.
namespace rest_fcgi::salt {

/// Appends one msgpack value as the JSON text that Salt would write, or as valid JSON where Salt writes none,
/// or fails:
/// - NaN and infinities are null;
/// - `bin`, and `str` that is no UTF-8, are text with U+FFFD for what is none;
/// - a key that is no text is one: `1`, `1.5`, `null`, `true`; of an array or map its JSON text;
/// - Salt's extension for dates (78) is the date as ISO 8601 has it, always with its microseconds; that
///   for named constants (79) is the constant's value; any other is its payload as text.
///
/// Members keep their order, and one that stands twice stands twice, as it does with Salt: parsers take the
/// later.
///
/// Errors: internal, with what is wrong and at which byte, for all that is not exactly one value, is nested
/// deeper than `kMaxDepth`, or has an array or map as key inside of one that is a key. `out` is then as it
/// was.
Result<void> append_json(std::string_view bytes, std::string& out);

/// The same as a text of its own.
[[nodiscard]] Result<Json> to_json(std::string_view bytes);

}  // namespace rest_fcgi::salt
