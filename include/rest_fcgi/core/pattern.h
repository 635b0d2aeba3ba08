// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// Returns whether the whole `text` matches the shell-style `pattern` by the rules of Python's
/// fnmatch.fnmatchcase. The time is at most proportional to the product of both lengths.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// A regular expression in the syntax of PCRE2. A match that exceeds the limits of time or memory counts as
/// no match. A Regex is immutable and thread-safe.
class Regex {
 public:
  /// Compiles a pattern. Errors: invocation, with the offset of the mistake in the pattern.
  static Result<Regex> compile(std::string_view pattern);

  /// Returns whether the pattern matches at the start of `text`, as Python's `re.match`.
  [[nodiscard]] bool match_start(std::string_view text) const;

  /// `beyond` means that the match exceeds the limits of time or memory.
  enum class Match { no, yes, beyond };

  /// As `match_start`. Adds to `steps` an upper bound of the ways that the match tried, at least 30. A step
  /// takes about 15 ns.
  [[nodiscard]] Match match_start(std::string_view text, std::size_t& steps) const;

  /// Returns the size of the compiled pattern in bytes.
  [[nodiscard]] std::size_t size() const;

  /// Returns whether the pattern matches the whole `text`, as Python's `re.fullmatch`.
  [[nodiscard]] bool match_all(std::string_view text) const;

 private:
  explicit Regex(std::shared_ptr<const void> code) : code_(std::move(code)) {}
  [[nodiscard]] bool match(std::string_view text, unsigned options) const;

  std::shared_ptr<const void> code_;  ///< A pcre2_code.
};

}  // namespace rest_fcgi
