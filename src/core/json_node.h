// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi {

/// One value or key of a document. The descendants of a value follow it, up to `end`.
struct JsonDocument::Node {
  const char* text = nullptr;  ///< of strings, keys and numbers: points into text_ or strings_
  std::uint32_t text_size = 0;
  std::uint32_t end = 0;    ///< index after this value and its descendants
  std::uint32_t count = 0;  ///< number of elements or members
  JsonValue::Kind kind = JsonValue::Kind::null;
  bool flag = false;  ///< value of a boolean; for a key: hidden by a later equal key
};

/// Checks the grammar of a number (RFC 8259, section 6), since simdjson refuses integers beyond 64 bits.
/// Returns integer or real; absent: malformed.
[[nodiscard]] std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept;

/// Returns whether a well-formed number fits a double. A number that is too small counts as 0.
[[nodiscard]] bool is_finite_number(std::string_view text);

}  // namespace rest_fcgi
