// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

/// How this engine writes JSON text, and reads again what it wrote itself.
namespace rest_fcgi::embedded {

/// What `write` writes with the JsonWriter that it is given. REQUIRES: one whole value.
template <class Write>
[[nodiscard]] Json written_json(const Write& write) {
  std::string text;
  JsonWriter writer(text);
  write(writer);
  return Json::trusted(std::move(text));
}

/// An array of strings.
template <class Texts>
void write_strings(JsonWriter& writer, const Texts& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

/// Reads text that a JsonWriter wrote, so that it needs no limits: those held for the values of which it was
/// made, though they may lie a little deeper now. Errors: internal, where it cannot be read all the same.
Result<void> read_own(JsonDocument& document, std::string_view text);

/// The text as a document; null where it cannot be read.
[[nodiscard]] JsonDocument own_document(const Json& json);

/// Writes `over` laid over `base`, both objects, member by member and as deep as both have objects there;
/// lists are joined without repeats where `merge_lists`, and else replaced (salt.utils.dictupdate.update).
void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists);

/// Writes the elements of `base`, then those of `over` that `base` has not.
void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over);

}  // namespace rest_fcgi::embedded
