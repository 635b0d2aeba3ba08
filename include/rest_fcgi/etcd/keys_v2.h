// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

/// A node of API v2: a key with its value, or a directory. Nodes whose name begins with `_` are hidden from
/// directories. Plain value.
struct NodeV2 {
  std::string key;  ///< the whole path, with a `/` in front
  std::string value;
  bool dir = false;
  std::vector<NodeV2> nodes;        ///< of a directory, sorted
  std::optional<std::int64_t> ttl;  ///< seconds that are left
};

/// What a put may ask for.
struct PutV2 {
  std::string key;
  std::string value;
  std::optional<std::chrono::seconds> ttl{};
  std::optional<bool> prev_exist{};
  std::optional<std::string> prev_value{};
};

/// A client for etcd's API v2 (`/v2/keys`, only where the server runs with `--enable-v2`): a store of its
/// own, with its own users, who are asked for their password with every request. Keys are paths: several `/`
/// are one, and no part is `.` or `..`. Thread-safe; a call blocks its own thread only.
///
/// Errors as of `Client`, but for: authentication (also where the user is known but may not do that: the
/// server tells no difference), configuration (the member has no API v2), invocation (a comparison that
/// failed, a key that is there already, a directory where a key should be), not_found (of a put with
/// `prev_exist`).
class KeysV2 {
 public:
  /// Opens no connection. Errors as of `Client::make`.
  [[nodiscard]] static Result<std::unique_ptr<KeysV2>> make(const Options& options);
  ~KeysV2();
  KeysV2(const KeysV2&) = delete;
  KeysV2& operator=(const KeysV2&) = delete;

  /// The newest that a majority of the members has; absent where there is no such key.
  [[nodiscard]] Result<std::optional<NodeV2>> get(std::string_view key, bool recursive, Deadline deadline);
  /// One without a condition is repeated where its outcome is not known; one with a condition is a timeout
  /// then.
  Result<NodeV2> put(const PutV2& request, Deadline deadline);

 private:
  class Impl;
  explicit KeysV2(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rest_fcgi::etcd
