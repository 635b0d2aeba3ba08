// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/json.h"

namespace rest_fcgi::lowstate {

/// What Salt makes of the value of a keyword argument that came as text, `name=value`
/// (salt.utils.args.yamlify_arg): null, booleans, integers and floats by YAML 1.1's words, quoted strings
/// without their quotes, and lists and objects in brackets; all else is the text itself. Never fails: text
/// that is no YAML is a string.
[[nodiscard]] Json yamlify_scalar(std::string_view text);

/// The two sides of `name=value`, where the name could be that of a Python argument; absent for any other
/// text, also for `name==value` (salt.utils.args.parse_kwarg). Borrows `text`.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_keyword(
    std::string_view text);

}  // namespace rest_fcgi::lowstate
