// SPDX-License-Identifier: MIT
#include "etcd/probe.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "etcd/kv_reply.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::array<std::string_view, 3> kPrefixes{"/v3", "/v3beta", "/v3alpha"};

/// The version that a reply of `/version` tells; empty where it is none.
std::string version_in(const HttpReply& reply) {
  JsonDocument document;
  if (reply.status != 200 || !document.parse(reply.body, JsonLimits::none())) return {};
  const std::optional<JsonValue> version = document.root().find("etcdserver");
  return version ? std::string(version->text()) : std::string();
}

/// The status tells the cluster; servers that want a login first do not matter here: they have the API.
Tried<Probed> ask_status(Transport& transport, const std::string& url, std::string_view prefix,
                         Deadline deadline) {
  Result<HttpReply> reply =
      transport.exchange({.url = url + std::string(prefix) + "/maintenance/status", .body = "{}"}, deadline);
  if (!reply) return transport_failure(std::move(reply).error());
  if (reply->status != 200) {
    Failure failure = gateway_failure(*reply, url);
    if (failure.remedy == Remedy::next_member || failure.remedy == Remedy::other_prefix) return failure;
    return Probed{std::string(prefix), 0};
  }
  JsonDocument document;
  if (document.parse(reply->body, JsonLimits::none())) {
    if (const Result<Status> status = read_reply(document, read_status);
        status && status->header.cluster_id != 0) {
      return Probed{std::string(prefix), status->header.cluster_id};
    }
  }
  return Failure{{ErrorKind::unavailable, "etcd: " + url + ": its answer is not that of an etcd"},
                 Remedy::next_member};
}

}  // namespace

std::string_view prefix_of_version(std::string_view version) {
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return kPrefixes[0];
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return kPrefixes[0];
  if (std::pair(major, minor) >= std::pair(3U, 4U)) return kPrefixes[0];
  return std::pair(major, minor) == std::pair(3U, 3U) ? kPrefixes[1] : kPrefixes[2];
}

std::string_view older_prefix(std::string_view prefix) {
  if (prefix == kPrefixes[0]) return kPrefixes[1];
  return prefix == kPrefixes[1] ? kPrefixes[2] : std::string_view();
}

Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline) {
  const Result<HttpReply> version =
      transport.exchange({.method = HttpRequest::Method::get, .url = url + "/version"}, deadline);
  if (!version) return transport_failure(version.error());
  std::string_view prefix = prefix_of_version(version_in(*version));
  while (true) {
    Tried<Probed> probed = ask_status(transport, url, prefix, deadline);
    Failure* const failure = std::get_if<Failure>(&probed);
    if (failure == nullptr || failure->remedy != Remedy::other_prefix) return probed;
    const std::string_view older = older_prefix(prefix);
    if (older.empty()) {
      failure->remedy = Remedy::next_member;
      return probed;
    }
    prefix = older;
  }
}

}  // namespace rest_fcgi::etcd
