// SPDX-License-Identifier: MIT
#include "master/embedded/copied.h"

#include <limits>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

Result<void> parse_copied(JsonDocument& document, std::string_view text) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  constexpr JsonLimits kNoLimits{.max_depth = kNone, .max_key_length = kNone, .max_number_length = kNone};
  const Result<void> parsed = document.parse(text, kNoLimits);
  if (parsed) return {};
  return Error{ErrorKind::internal, format("The arguments cannot be copied: {}", parsed.error().message)};
}

}  // namespace rest_fcgi::embedded
