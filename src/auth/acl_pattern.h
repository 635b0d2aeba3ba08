// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// A pattern of `external_auth`: an exact text, a glob or a regular expression; where a text can be read in
/// several of these ways, each of them counts. It has to match the whole of what it is held against. `.*` and
/// `*` match anything. A text without any special character but the dot is an exact one, so that `test.ping`
/// is no `testXping`. Immutable; thread-safe.
class AclPattern {
 public:
  /// Errors: configuration, for special characters that make up neither a glob nor a regular expression.
  static Result<AclPattern> make(std::string_view text);

  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  explicit AclPattern(std::string_view text) : text_(text) {}

  std::string text_;
  bool anything_ = false;
  bool glob_ = false;
  std::optional<Regex> regex_;
};

}  // namespace rest_fcgi::auth
