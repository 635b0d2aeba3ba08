// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::test {

/// Converts bytes with limited memory, and checks for an error or valid JSON. Returns a description of a
/// wrong result. Uses no doctest checks, because they take longer than the conversion.
inline std::string_view trouble_with(std::string_view bytes) {
  using namespace salt;
  static JsonDocument document;
  std::string out = "before";
  const Result<void> result = append_json(bytes, out);
  if (out.substr(0, 6) != "before") return "what stood there before was changed";
  if (out.capacity() > 64 + 20 * bytes.size()) return "more memory than the input can account for";
  if (!result && out != "before") return "half a value was left";
  if (result && !document.parse(std::string_view(out).substr(6), JsonLimits::none())) return "no valid JSON";

  const auto value = PackedValue::read(bytes);
  if (result && !value) return "transcoded, but no value";
  const bool is_map = value && value->kind == PackedValue::Kind::map;
  if (Fields::read(bytes, {"load", "return", "jid", "body"}).ok() != is_map)
    return "fields of what is no map";
  const bool is_array = value && value->kind == PackedValue::Kind::array;
  if (read_texts(bytes).ok() && !is_array) return "texts of what is no array";
  return {};
}

}  // namespace rest_fcgi::test
