// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi {

/// Checks a number's grammar (RFC 8259, section 6) by ourselves, since simdjson refuses integers beyond 64
/// bits. Absent: no number. Else whether it is an integer or a real one.
[[nodiscard]] std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept;

/// Does a number that has the right grammar fit a double? One that is too small does: it is 0.
[[nodiscard]] bool is_finite_number(std::string_view text);

}  // namespace rest_fcgi
