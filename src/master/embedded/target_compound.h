// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "master/embedded/target_step.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded::target {

/// The words of a compound expression: what stands between spaces.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view expression);

/// The ids of a list: what stands between commas.
[[nodiscard]] std::vector<std::string_view> split_ids(std::string_view list);

/// Compiles a compound target, Salt's grammar: words `G@key:value` (`G|@key|value` with a delimiter of its
/// own), `E@regex`, `L@id,id` and plain globs, joined by `and`, `or`, `not` and brackets, each a word of its
/// own. `not` binds closest, then `and`, then `or`; `a not b` is `a and not b`. The steps borrow the words.
/// Errors: invocation, naming the word by its number, from 1.
[[nodiscard]] Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words);

}  // namespace rest_fcgi::embedded::target
