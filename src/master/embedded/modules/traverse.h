// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <variant>

#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded {

/// What a key found: a value, nothing, or the exception that the key or the delimiter leads to.
using Traversed = std::variant<std::optional<JsonValue>, Raised>;

/// Looks up a key such as `pkg:apache` or `ip4:0`, step by step, in objects by member and in lists by index
/// or in the objects among their elements (salt.utils.data.traverse_dict_and_list). A key may also be a list
/// of steps. Without a delimiter it is `:`. The value found lives as long as `data`.
[[nodiscard]] Traversed traverse(const JsonValue& data, const JsonValue& key,
                                 const std::optional<JsonValue>& delimiter = std::nullopt);

}  // namespace rest_fcgi::embedded
