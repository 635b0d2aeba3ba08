// SPDX-License-Identifier: MIT
#include "master/embedded/python/copied.h"

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

Result<void> parse_copied(JsonDocument& document, std::string_view text) {
  const Result<void> parsed = document.parse(text, JsonLimits::none());
  if (parsed) return {};
  return Error{ErrorKind::internal, format("The arguments cannot be copied: {}", parsed.error().message)};
}

}  // namespace rest_fcgi::embedded
