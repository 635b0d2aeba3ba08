// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "master/embedded/python/raised.h"
#include "rest_fcgi/core/json_document.h"

/// What Python's built-ins make of the values that callers hand to functions written for Python.
namespace rest_fcgi::embedded {

/// A whole number, or the exception that kept us from having one.
using WholeNumber = std::variant<std::int64_t, Raised>;

/// `int(value)`. Numbers beyond 64 bits become the largest or smallest one; callers have limits far below.
[[nodiscard]] WholeNumber python_int(const JsonValue& value);

/// `int(text)`; absent where Python raises a ValueError.
[[nodiscard]] std::optional<std::int64_t> python_int(std::string_view text);

/// The upper bound of `random.randint(0, bound)`, or what randint raises about it.
[[nodiscard]] WholeNumber python_randint_bound(const JsonValue& bound);

/// `bool(value)`.
[[nodiscard]] bool python_bool(const JsonValue& value);

/// Salt's own idea of truth, salt.utils.data.is_true: numbers above 0, also as text, and `true` in any case.
[[nodiscard]] bool salt_is_true(const JsonValue& value);

/// `str(type(value))`: `<class 'int'>`.
[[nodiscard]] std::string python_type(const JsonValue& value);

}  // namespace rest_fcgi::embedded
