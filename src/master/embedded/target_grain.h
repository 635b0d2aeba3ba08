// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded::target {

/// How many delimiters an expression may have.
inline constexpr std::size_t kMaxLevels = 64;

/// Does `data` have what `expression` asks for? Salt's rules for grain targets
/// (salt.utils.data.subdict_match): `os:Deb*` is a glob on the value of `os`, without regard to case; `a:b:c`
/// is `c` below `a:b`, or `b:c` below `a`; of a list any element will do; of an object a key will do as well;
/// `*:` stands for any key. Work is bounded, so that no expression can hold a thread: what exceeds the bound
/// does not match.
[[nodiscard]] bool matches_grain(JsonValue data, std::string_view expression, std::string_view delimiter);

}  // namespace rest_fcgi::embedded::target
