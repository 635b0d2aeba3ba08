// SPDX-License-Identifier: MIT
#include "auth/acl_pattern.h"

#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::string_view kRegexOnly = "\\^$+|(){}";
constexpr std::string_view kGlobToo = "*?[]";

bool has_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

/// fnmatch takes a bracket that is never closed as it is; here it is a mistake.
bool is_glob(std::string_view text) {
  const std::size_t open = text.find('[');
  return has_any(text, "*?") ||
         (open != std::string_view::npos && text.find(']', open) != std::string_view::npos);
}

}  // namespace

Result<AclPattern> AclPattern::make(std::string_view text) {
  AclPattern pattern(text);
  pattern.anything_ = text == ".*" || text == "*";
  if (pattern.anything_ || (!has_any(text, kRegexOnly) && !has_any(text, kGlobToo))) return pattern;

  pattern.glob_ = is_glob(text) && !has_any(text, kRegexOnly);
  auto regex = Regex::compile(text);
  if (regex) {
    pattern.regex_ = *std::move(regex);
  } else if (!pattern.glob_) {
    return Error{ErrorKind::configuration,
                 format("\"{}\" is neither an exact name, nor a glob, nor a regular expression: {}", text,
                        regex.error().message)};
  }
  return pattern;
}

bool AclPattern::matches(std::string_view text) const {
  if (anything_ || text == text_) return true;
  if (glob_ && glob_match(text_, text)) return true;
  return regex_ && regex_->match_all(text);
}

}  // namespace rest_fcgi::auth
