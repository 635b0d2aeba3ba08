// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi {

/// One value, or one key, of a document. A value's descendants follow it directly, up to `end`.
struct JsonDocument::Node {
  const char* text = nullptr;  ///< strings, keys and numbers: into text_ or strings_
  std::uint32_t text_size = 0;
  std::uint32_t end = 0;    ///< index of the node that follows this value and all that is inside it
  std::uint32_t count = 0;  ///< elements or members that count
  JsonValue::Kind kind = JsonValue::Kind::null;
  bool flag = false;  ///< a boolean's value; a key: shadowed by a later one of the same name
};

/// Checks a number's grammar (RFC 8259, section 6) by ourselves, since simdjson refuses integers beyond 64
/// bits. Absent: no number. Else whether it is an integer or a real one.
[[nodiscard]] std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept;

/// Does a number that has the right grammar fit a double? One that is too small does: it is 0.
[[nodiscard]] bool is_finite_number(std::string_view text);

}  // namespace rest_fcgi
