// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::test {

/// Converts bytes with limited memory, and returns a description of a wrong result. Uses no doctest checks,
/// because they take longer than the conversion.
inline std::string_view trouble_with(std::string_view bytes) {
  using namespace salt;
  static JsonDocument document;
  std::string out = "before";
  const Result<void> result = append_json(bytes, out);
  if (out.substr(0, 6) != "before") return "the existing text was changed";
  if (out.capacity() > 64 + 20 * bytes.size()) return "more memory than 20 times the input";
  if (!result && out != "before") return "an error left a part of a value";
  if (result && !document.parse(std::string_view(out).substr(6), JsonLimits::none()))
    return "the output is not valid JSON";

  const auto value = PackedValue::read(bytes);
  if (result && !value) return "converted to JSON, but not read as a value";
  const bool is_map = value && value->kind == PackedValue::Kind::map;
  if (Fields::read(bytes, {"load", "return", "jid", "body"}).ok() != is_map)
    return "Fields and PackedValue disagree about a map";
  const bool is_array = value && value->kind == PackedValue::Kind::array;
  if (read_texts(bytes).ok() && !is_array) return "texts were read from a value that is not an array";
  return {};
}

}  // namespace rest_fcgi::test
