// SPDX-License-Identifier: MIT
#include "master/embedded/json_text.h"

#include <optional>
#include <set>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

bool both(const JsonValue& a, const JsonValue& b, JsonValue::Kind kind) {
  return a.is(kind) && b.is(kind);
}

}  // namespace

Result<void> read_own(JsonDocument& document, std::string_view text) {
  const Result<void> parsed = document.parse(text, JsonLimits::none());
  if (parsed) return {};
  return Error{ErrorKind::internal,
               format("JSON text of this engine cannot be read again: {}", parsed.error().message)};
}

JsonDocument own_document(const Json& json) {
  JsonDocument document;
  (void)read_own(document, json.text());
  return document;
}

void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists) {
  writer.begin_object();
  for (const auto& [key, value] : base.members()) {
    const std::optional<JsonValue> replacement = over.find(key);
    writer.key(key);
    if (!replacement) {
      value.write(writer);
    } else if (both(value, *replacement, JsonValue::Kind::object)) {
      write_merged(writer, value, *replacement, merge_lists);
    } else if (merge_lists && both(value, *replacement, JsonValue::Kind::array)) {
      write_joined(writer, value, *replacement);
    } else {
      replacement->write(writer);
    }
  }
  for (const auto& [key, value] : over.members()) {
    if (base.find(key)) continue;
    writer.key(key);
    value.write(writer);
  }
  writer.end_object();
}

void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over) {
  std::set<std::string> present;
  writer.begin_array();
  for (const JsonValue value : base.elements()) {
    present.insert(value.json().text());
    value.write(writer);
  }
  for (const JsonValue value : over.elements()) {
    if (!present.contains(value.json().text())) value.write(writer);
  }
  writer.end_array();
}

}  // namespace rest_fcgi::embedded
