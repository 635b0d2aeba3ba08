// SPDX-License-Identifier: MIT
#include "master/salt/events/large_frame.h"

#include <algorithm>

#include "master/salt/events/value_scanner.h"

namespace rest_fcgi::salt {
namespace {

using Kind = ValueHeader::Kind;

constexpr std::uint64_t kLongestKey = 64;

Error no_event() {
  return {ErrorKind::internal, "it does not begin as an event does"};
}

/// The header of the `body` with which the frame ends, after all that stands before it was taken off `rest`.
Result<std::optional<ValueHeader>> take_up_to_body(std::string_view& rest) {
  const auto map = header_of(rest);
  if (!map) return std::optional<ValueHeader>();
  if (map->kind != Kind::map) return no_event();
  rest.remove_prefix(map->size);
  for (std::uint64_t entries = map->values / 2; entries > 0; --entries) {
    const auto key = header_of(rest);
    if (!key) return std::optional<ValueHeader>();
    if (key->kind != Kind::text || key->payload > kLongestKey) return no_event();
    if (rest.size() < key->size + key->payload) return std::optional<ValueHeader>();
    const std::string_view name = rest.substr(key->size, key->payload);
    rest.remove_prefix(key->size + key->payload);
    if (name == "body") {
      const auto body = header_of(rest);
      if (body && (body->kind != Kind::text || entries > 1)) return no_event();
      return body;
    }
    ValueScanner other(LargeFrame::kBeginning);
    const auto whole = other.scan(rest);
    if (!whole) return no_event();
    if (!*whole) return std::optional<ValueHeader>();
    rest.remove_prefix(other.size());
  }
  return no_event();
}

}  // namespace

Result<std::optional<LargeFrame>> LargeFrame::read(std::string_view came) {
  const std::string_view beginning = came.substr(0, kBeginning);
  std::string_view rest = beginning;
  const auto body = take_up_to_body(rest);
  if (!body) return body.error();
  const bool is_all = beginning.size() == kBeginning;
  if (!*body) return is_all ? Result<std::optional<LargeFrame>>(no_event()) : std::optional<LargeFrame>();
  const std::uint64_t size = beginning.size() - rest.size() + (*body)->size + (*body)->payload;
  if (beginning.size() < std::min<std::uint64_t>(kBeginning, size)) return std::optional<LargeFrame>();
  const std::string_view text = rest.substr((*body)->size, (*body)->payload);
  const std::size_t end = text.find("\n\n");
  if (end == std::string_view::npos) return no_event();
  return std::optional(LargeFrame{size, text.substr(0, end), text.substr(end + 2)});
}

}  // namespace rest_fcgi::salt
