// SPDX-License-Identifier: MIT
#include "rest_fcgi/process/run_wire.h"

#include <cstring>

// A StartOrder in bytes:
//   length       uint32      the number of the bytes that follow, at most kMaxOrder
//   head         OrderHead   56 bytes
//   groups       gid_t       head.groups times
//   cwd          text
//   argv         text        head.arguments times, at least once
//   environment  text        head.variables times
// A text ends with a NUL byte. No byte follows the last text.

namespace rest_fcgi::process::wire {
namespace {

/// The fixed part of a StartOrder.
struct OrderHead {
  std::uint32_t version = kVersion;
  std::uint32_t inherit = 0;
  std::uint32_t umask = 0;
  std::uint32_t has_identity = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t groups = 0;
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  std::uint32_t has_time_limit = 0;
  std::int64_t time_limit = 0;  // `time_limit` and `grace` are in milliseconds.
  std::int64_t grace = 0;
};

template <class Plain>
void append(std::string& frame, const Plain& value) {
  frame.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Plain>
bool take(std::string_view& body, Plain& value) {
  if (body.size() < sizeof value) return false;
  std::memcpy(&value, body.data(), sizeof value);
  body.remove_prefix(sizeof value);
  return true;
}

bool take(std::string_view& body, std::string& text) {
  const std::size_t end = body.find('\0');
  if (end == std::string_view::npos) return false;
  text = body.substr(0, end);
  body.remove_prefix(end + 1);
  return true;
}

template <class Value>
bool take(std::string_view& body, std::vector<Value>& values, std::uint32_t count) {
  while (values.size() < count) {
    if (!take(body, values.emplace_back())) return false;
  }
  return true;
}

}  // namespace

Reply make_reply(Reply::Kind kind, std::int32_t number, std::string_view text) {
  Reply reply{.kind = kind, .number = number};
  text.copy(reply.text.data(), reply.text.size() - 1);
  return reply;
}

std::string to_bytes(const StartOrder& order) {
  OrderHead head;
  head.inherit = order.inherit ? 1 : 0;
  head.umask = order.umask;
  const Identity identity = order.identity.value_or(Identity{});
  head.has_identity = order.identity ? 1 : 0;
  head.uid = identity.uid;
  head.gid = identity.gid;
  head.groups = static_cast<std::uint32_t>(identity.groups.size());
  head.arguments = static_cast<std::uint32_t>(order.argv.size());
  head.variables = static_cast<std::uint32_t>(order.environment.size());
  head.has_time_limit = order.time_limit ? 1 : 0;
  head.time_limit = order.time_limit.value_or(std::chrono::milliseconds(0)).count();
  head.grace = order.grace.count();
  std::string bytes(kHeader, '\0');
  append(bytes, head);
  for (const gid_t group : identity.groups) append(bytes, group);
  bytes.append(order.cwd).push_back('\0');
  for (const auto* texts : {&order.argv, &order.environment}) {
    for (const std::string& text : *texts) bytes.append(text).push_back('\0');
  }
  if (bytes.size() > kHeader + kMaxOrder) return {};
  const auto length = static_cast<std::uint32_t>(bytes.size() - kHeader);
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

std::optional<std::size_t> length_in(std::string_view header) {
  std::uint32_t length = 0;
  if (!take(header, length) || length > kMaxOrder) return std::nullopt;
  return length;
}

std::optional<StartOrder> read_order(std::string_view body) {
  OrderHead head;
  StartOrder order;
  Identity identity;
  const bool whole = take(body, head) && head.version == kVersion && head.arguments > 0 &&
                     take(body, identity.groups, head.groups) && take(body, order.cwd) &&
                     take(body, order.argv, head.arguments) && take(body, order.environment, head.variables);
  if (!whole || !body.empty()) return std::nullopt;
  order.inherit = head.inherit != 0;
  order.umask = head.umask;
  identity.uid = head.uid;
  identity.gid = head.gid;
  if (head.has_identity != 0) order.identity = identity;
  if (head.has_time_limit != 0) order.time_limit = std::chrono::milliseconds(head.time_limit);
  order.grace = std::chrono::milliseconds(head.grace);
  return order;
}

}  // namespace rest_fcgi::process::wire
