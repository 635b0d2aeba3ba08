// SPDX-License-Identifier: MIT
#include "etcd/v2.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "etcd/cluster.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::etcd {
namespace {

NodeV2 read_node(const JsonValue& value) {
  NodeV2 node;
  if (const auto key = value.find("key")) node.key = key->text();
  if (const auto text = value.find("value")) node.value = text->text();
  const auto dir = value.find("dir");
  node.dir = dir && dir->is(JsonValue::Kind::boolean) && dir->boolean();
  if (const auto nodes = value.find("nodes")) {
    for (const JsonValue inside : nodes->elements()) node.nodes.push_back(read_node(inside));
  }
  return node;
}

Failure member_failure(ErrorKind kind, std::string_view url, std::string_view said) {
  const bool next = kind == ErrorKind::timeout;
  return {
      {kind, format("etcd: {}: {}", url, said)}, next ? RetryAction::next_member : RetryAction::none, !next};
}

/// Returns the error kind for an error code of API v2. Codes from 300 on mean that the member failed.
ErrorKind kind_of_error(std::int64_t code, long status) noexcept {
  if (code == 100) return ErrorKind::not_found;
  if (code == 110) return ErrorKind::authentication;
  if ((code > 100 && code < 300) || status == 413) return ErrorKind::invocation;
  if ((code >= 300 && code < 400) || status >= 500 || status == 408) return ErrorKind::timeout;
  return ErrorKind::internal;
}

Failure refusal(const HttpReply& reply, std::string_view url) {
  JsonDocument document;
  const bool parsed = document.parse(reply.body, JsonLimits::none()).ok();
  const auto code = parsed ? document.root().find("errorCode") : std::nullopt;
  if (reply.status == 404 && !code) {
    return member_failure(
        ErrorKind::configuration, url,
        "found no API v2; etcd before 3.6 has it with --enable-v2, later versions have API v3 only");
  }
  const auto message = parsed ? document.root().find("message") : std::nullopt;
  const std::int64_t number = code ? code->integer().value_or(0) : 0;
  const std::string_view hint =
      number == 110 ? "; the name or the password is wrong, or the permission is missing" : "";
  return member_failure(kind_of_error(number, reply.status), url,
                        format("HTTP {}, error {}: {}{}", reply.status, number,
                               excerpt(message ? message->text() : std::string_view(), kMostQuoted), hint));
}

}  // namespace

Secret basic_authorization(const Options& options) {
  if (options.username.empty()) return {};
  const std::string_view password = options.password ? options.password->reveal().text : std::string_view();
  std::string text = "Basic ";
  append_base64(text, format("{}:{}", options.username, password));
  return Secret(text);
}

Result<std::string> v2_path(std::string_view key) {
  std::string path = "/v2/keys";
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('/'), key.size());
    const std::string_view name = key.substr(0, end);
    key.remove_prefix(std::min(end + 1, key.size()));
    if (name == "." || name == "..") {
      return Error{ErrorKind::invocation,
                   format("etcd: key of API v2: found the part {}, expected no part \".\" or \"..\"",
                          quoted_excerpt(name))};
    }
    if (name.empty()) continue;
    path.append("/").append(percent_encoded(name));
  }
  return path;
}

Tried<NodeV2> read_v2_node(const HttpReply& reply, std::string_view url) {
  if (reply.status != 200 && reply.status != 201) return refusal(reply, url);
  JsonDocument document;
  const bool parsed = document.parse(reply.body, JsonLimits::none()).ok();
  const auto node = parsed ? document.root().find("node") : std::nullopt;
  if (!node || !node->is(JsonValue::Kind::object)) {
    return member_failure(ErrorKind::internal, url,
                          format("malformed reply: found no node in {} bytes", reply.body.size()));
  }
  return read_node(*node);
}

Result<std::optional<NodeV2>> Client::get_v2(std::string_view key, bool recursive, Deadline deadline) {
  Result<std::string> path = v2_path(key);
  if (!path) return std::move(path).error();
  // With `quorum`, the reply has the newest data. Without `quorum`, a member may answer with outdated data.
  *path += recursive ? "?quorum=true&sorted=true&recursive=true" : "?quorum=true&sorted=true";
  Result<NodeV2> node = cluster_->call_v2({.method = HttpRequest::Method::get, .url = *std::move(path)},
                                          Effect::reads, deadline);
  if (node) return std::optional(*std::move(node));
  if (node.error().kind == ErrorKind::not_found) return std::optional<NodeV2>();
  return std::move(node).error();
}

Result<void> Client::put_v2(const PutV2& request, Deadline deadline) {
  Result<std::string> path = v2_path(request.key);
  if (!path) return std::move(path).error();
  std::string form = "value=" + percent_encoded(request.value);
  if (request.ttl) form += format("&ttl={}", request.ttl->count());
  if (request.must_be_new) form += "&prevExist=false";
  if (request.prev_value) form += "&prevValue=" + percent_encoded(*request.prev_value);
  const bool has_condition = request.must_be_new || request.prev_value;
  Result<NodeV2> node =
      cluster_->call_v2({.method = HttpRequest::Method::put, .url = *std::move(path), .body = form},
                        has_condition ? Effect::writes_once : Effect::writes, deadline);
  return std::move(node).without_value();
}

}  // namespace rest_fcgi::etcd
