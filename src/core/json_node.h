// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi {

/// A value or key of a document. The nodes after a value and before the index `end` are its descendants.
struct JsonDocument::Node {
  const char* text = nullptr;  ///< The text of a string, key or number.
  std::uint32_t text_size = 0;
  std::uint32_t end = 0;    ///< `end` is the index of the first node after this value and its descendants.
  std::uint32_t count = 0;  ///< `count` is the number of elements or members.
  JsonValue::Kind kind = JsonValue::Kind::null;
  bool flag = false;  ///< The value of a boolean. For a key, whether the object has an equal key later.
};

/// Returns the kind `integer` or `real` of a number (RFC 8259, section 6). Returns std::nullopt for a
/// malformed number.
[[nodiscard]] std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept;

/// Returns whether the number fits into a double. A number that is too small for a double counts as 0.
[[nodiscard]] bool is_finite_number(std::string_view text);

}  // namespace rest_fcgi
