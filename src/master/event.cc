// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/event.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::master {
namespace {

constexpr std::size_t kMaxTag = 512;

// Listeners in Python give an event up that is nested more than some 500 deep.
constexpr std::size_t kMaxDepth = 400;

bool is_control(char byte) {
  constexpr char kDelete = 0x7F;
  return static_cast<unsigned char>(byte) < ' ' || byte == kDelete;
}

Error bad_tag(std::string_view found) {
  return {ErrorKind::invocation,
          format("An event's tag is 1 to {} bytes of UTF-8 without control characters; {} was found.",
                 kMaxTag, found)};
}

}  // namespace

Result<JsonDocument> check_event(std::string_view tag, const Json& data) {
  if (tag.empty()) return bad_tag("an empty one");
  if (tag.size() > kMaxTag) return bad_tag(format("one of {} bytes", tag.size()));
  if (std::any_of(tag.begin(), tag.end(), is_control)) return bad_tag("one with a control character");
  if (!is_utf8(tag)) return bad_tag("one that is no UTF-8");
  JsonLimits limits = JsonLimits::none();
  limits.max_depth = kMaxDepth;
  JsonDocument document;
  if (const auto parsed = document.parse(data.text(), limits); !parsed) {
    return Error{ErrorKind::invocation, format("An event's data: {}", parsed.error().message)};
  }
  if (!document.root().is(JsonValue::Kind::object)) {
    return Error{ErrorKind::invocation,
                 format("An event's data is an object; {} was found.", document.root().type_name())};
  }
  return document;
}

}  // namespace rest_fcgi::master
