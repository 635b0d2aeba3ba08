// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/target/target_step.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded::target {

/// The words of a compound expression: what stands between spaces.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view expression);

/// The ids of a list: what stands between commas.
[[nodiscard]] std::vector<std::string_view> split_ids(std::string_view list);

/// Compiles a compound target, Salt's grammar: words `G@key:value` (grain), `P@` (grain_pcre), `I@` (pillar),
/// `J@` (pillar_pcre), each also with a delimiter of its own such as `G|@key|value`, `E@regex`, `L@id,id`,
/// `S@network`, `N@nodegroup` and plain globs, joined by `and`, `or`, `not` and brackets, each a word of its
/// own. `not` binds closest, then `and`, then `or`; `a not b` is `a and not b`. The steps borrow the words.
/// Errors: invocation, naming the word by its number, from 1.
[[nodiscard]] Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                                         const Nodegroups& nodegroups);

/// The minions of a nodegroup. Errors: invocation, in words that go into a sentence.
[[nodiscard]] Result<Step> compile_nodegroup(std::string_view name, const Nodegroups& nodegroups);

}  // namespace rest_fcgi::embedded::target
