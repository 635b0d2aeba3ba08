// SPDX-License-Identifier: MIT
#include "etcd/v2_wire.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::size_t kMostOfMessage = 200;

bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

void append_escaped(std::string& text, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    if (is_unreserved(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
}

std::uint64_t index_at(const JsonValue& node, std::string_view name) {
  const auto value = node.find(name);
  return static_cast<std::uint64_t>(value ? value->integer().value_or(0) : 0);
}

NodeV2 read_node(const JsonValue& value) {
  NodeV2 node;
  if (const auto key = value.find("key")) node.key = key->text();
  if (const auto text = value.find("value")) node.value = text->text();
  const auto dir = value.find("dir");
  node.dir = dir && dir->is(JsonValue::Kind::boolean) && dir->boolean();
  if (const auto ttl = value.find("ttl")) node.ttl = ttl->integer();
  node.created_index = index_at(value, "createdIndex");
  node.modified_index = index_at(value, "modifiedIndex");
  if (const auto nodes = value.find("nodes")) {
    for (const JsonValue inside : nodes->elements()) node.nodes.push_back(read_node(inside));
  }
  return node;
}

Failure failure(ErrorKind kind, std::string_view url, std::string_view said) {
  const bool next = kind == ErrorKind::timeout;
  return {{kind, format("etcd: {}: {}", url, said)}, next ? Remedy::next_member : Remedy::none, !next};
}

/// By etcd's numbers of errors (API v2). That 3xx are a member's own troubles is what all of them have in
/// common.
ErrorKind kind_of(std::int64_t code, long status) noexcept {
  if (code == 100) return ErrorKind::not_found;
  if (code == 110) return ErrorKind::authentication;
  if (code > 100 && code < 300) return ErrorKind::invocation;
  if ((code >= 300 && code < 400) || status >= 500 || status == 408) return ErrorKind::timeout;
  return ErrorKind::internal;
}

Failure refusal(const HttpReply& reply, std::string_view url) {
  JsonDocument document;
  const bool parsed = document.parse(reply.body, JsonLimits::none()).ok();
  const auto code = parsed ? document.root().find("errorCode") : std::nullopt;
  if (reply.status == 404 && !code) {
    return failure(ErrorKind::configuration, url,
                   "it has no API v2; etcd before 3.6 has it with --enable-v2, later ones have API v3 only");
  }
  const auto message = parsed ? document.root().find("message") : std::nullopt;
  const std::int64_t number = code ? code->integer().value_or(0) : 0;
  const std::string_view hint =
      number == 110 ? "; a wrong name or password, or no permission: etcd does not say which" : "";
  return failure(kind_of(number, reply.status), url,
                 format("HTTP {}, error {}: {}{}", reply.status, number,
                        excerpt(message ? message->text() : std::string_view(), kMostOfMessage), hint));
}

}  // namespace

Result<std::string> v2_path(std::string_view key) {
  std::string path = "/v2/keys";
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('/'), key.size());
    const std::string_view name = key.substr(0, end);
    key.remove_prefix(std::min(end + 1, key.size()));
    if (name == "." || name == "..") {
      return Error{ErrorKind::invocation, format("etcd: a key of the API v2 has no part {}", quoted(name))};
    }
    if (name.empty()) continue;
    path += '/';
    append_escaped(path, name);
  }
  return path;
}

std::string v2_form(const PutV2& request) {
  std::string form = "value=";
  append_escaped(form, request.value);
  if (request.ttl) form += format("&ttl={}", request.ttl->count());
  if (request.prev_exist) form += *request.prev_exist ? "&prevExist=true" : "&prevExist=false";
  if (request.prev_index) form += format("&prevIndex={}", *request.prev_index);
  if (request.prev_value) {
    form += "&prevValue=";
    append_escaped(form, *request.prev_value);
  }
  return form;
}

Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url) {
  if (reply.status != 200 && reply.status != 201) return refusal(reply, url);
  JsonDocument document;
  const bool parsed = document.parse(reply.body, JsonLimits::none()).ok();
  const auto node = parsed ? document.root().find("node") : std::nullopt;
  if (!node || !node->is(JsonValue::Kind::object)) {
    return failure(ErrorKind::internal, url,
                   format("a reply of {} bytes that has no node", reply.body.size()));
  }
  return read_node(*node);
}

}  // namespace rest_fcgi::etcd
