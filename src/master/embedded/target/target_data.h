// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded::target {

/// How many delimiters an expression may have, and how many one with regular expressions, where a pattern is
/// compiled for each.
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::size_t kMaxPcreLevels = 16;

/// Asks whether grains or pillar data have what an expression says, by Salt's rules
/// (salt.utils.data.subdict_match): `os:Deb*` is a pattern for the value of `os`; `a:b:c` is `c` below `a:b`,
/// or `b:c` below `a`; of a list any element will do; of an object a key will do as well; `*:` stands for any
/// key. Values are compared as Python writes them and without regard to case, which for a regular expression
/// means that `\D` is read as `\d`. Work is bounded, so that no expression can hold a thread: what exceeds
/// the bound does not match. Borrows its texts. Immutable; thread-safe.
class DataMatcher {
 public:
  enum class How { glob, pcre, exact };

  /// Errors: invocation, for too many levels, and for a regular expression that is none.
  [[nodiscard]] static Result<DataMatcher> compile(std::string_view expression, std::string_view delimiter,
                                                   How how);

  [[nodiscard]] bool matches(JsonValue data) const;

 private:
  class Match;
  DataMatcher(std::string_view expression, std::string_view delimiter, How how)
      : expression_(expression), delimiter_(delimiter), how_(how) {}
  Result<void> compile_patterns();
  [[nodiscard]] const Regex* pattern_at(std::size_t offset) const;

  std::string_view expression_;
  std::string_view delimiter_;
  How how_;
  // The end of the expression from an offset on, as a pattern; those that are no regular expression are left
  // out and match nothing.
  std::vector<std::pair<std::size_t, Regex>> patterns_;
};

}  // namespace rest_fcgi::embedded::target
