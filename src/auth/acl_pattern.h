// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// Compiles what Python's `re` and PCRE2 read alike, with Python's meaning: literals, `. ^ $ |`, classes,
/// `( (?: (?= (?!` and what they hold, the repetitions `* + ? {m} {m,} {m,n}` and their lazy forms, escaped
/// punctuation and `\d \D \w \W \s \S \n \r \t \A \Z`. Errors: configuration, with what is wrong or has
/// to be written otherwise.
Result<Regex> compile_python_regex(std::string_view pattern);

/// A pattern of `external_auth`. A text without any special character but the dot is exact, so that
/// `test.ping` is no `testXping`; any other is a regular expression, as Salt 3006 reads it (`match_check` of
/// `CkMinions`), which has to match the whole of what it is held against, where Salt is content with its
/// start. Immutable; thread-safe.
class AclPattern {
 public:
  /// Errors: those of `compile_python_regex`.
  static Result<AclPattern> make(std::string_view text);

  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit AclPattern(std::string_view text) : text_(text) {}

  std::string text_;
  bool anything_ = false;  ///< `.*`, whose dot would take no line feed
  std::optional<Regex> regex_;
};

}  // namespace rest_fcgi::auth
