// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

/// What a compiled target is made of.
namespace rest_fcgi::embedded::target {

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< sorted
};
struct Grain {
  std::string_view expression;
  std::string_view delimiter;
};
struct Not {};
struct And {};
struct Or {};

/// Operands push whether they match; operators work on what was pushed before them (postfix order, which has
/// no brackets and needs no recursion).
using Step = std::variant<Glob, Pcre, List, Grain, Not, And, Or>;

[[nodiscard]] Result<Step> compile_pcre(std::string_view pattern);
[[nodiscard]] Step compile_list(std::vector<std::string_view> ids);
[[nodiscard]] Result<Step> compile_grain(std::string_view expression, std::string_view delimiter);

/// A caller's text for a message: in quotes, and not longer than a sentence bears.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace rest_fcgi::embedded::target
