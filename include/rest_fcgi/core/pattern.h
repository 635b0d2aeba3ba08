// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// Does all of `text` match the shell-style `pattern`? Rules of Python's fnmatch.fnmatchcase, which Salt uses
/// for targets: `*`, `?`, `[seq]`, `[!seq]`; no escape character, and `/` is a character like any other.
/// Linear in text times pattern, whatever the pattern.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// A regular expression in PCRE2's syntax, which is all but Python's `re`. Work and memory of a match are
/// bounded, so that no pattern can hold a thread: a match that exceeds the bounds is no match. Immutable
/// after construction, and cheap to copy; thread-safe.
class Regex {
 public:
  /// Errors: invocation, naming the offset where the pattern goes wrong.
  static Result<Regex> compile(std::string_view pattern);

  /// Does the start of `text` match, as Python's `re.match`?
  [[nodiscard]] bool match_start(std::string_view text) const;

  /// Does the whole of `text` match, as Python's `re.fullmatch`?
  [[nodiscard]] bool match_all(std::string_view text) const;

 private:
  explicit Regex(std::shared_ptr<const void> code) : code_(std::move(code)) {}
  [[nodiscard]] bool match(std::string_view text, unsigned options) const;

  std::shared_ptr<const void> code_;  ///< a pcre2_code
};

}  // namespace rest_fcgi
