// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

using Deadline = std::chrono::steady_clock::time_point;

// Messages of etcd's API v3. Their names are those of etcd's API reference. Keys and values may contain any
// bytes.

struct Header {
  std::uint64_t cluster_id = 0;
  std::int64_t revision = 0;
  std::uint64_t raft_term = 0;
};

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::int64_t lease = 0;  ///< `lease` is the id of the key's lease. 0 if the key has no lease.
};

[[nodiscard]] std::string prefix_end(std::string_view prefix);

struct RangeRequest {
  std::string key;
  std::string range_end{};    ///< `range_end` is the range's exclusive end. Empty for the single key `key`.
  std::int64_t limit = 0;     ///< `limit` is the largest number of keys in the reply. 0 means no limit.
  std::int64_t revision = 0;  ///< `revision` is the revision to read. 0 means the newest revision.
};

struct RangeReply {
  Header header;
  std::vector<KeyValue> kvs;
  bool more = false;
};

struct PutRequest {
  std::string key;
  std::string value;
  std::int64_t lease = 0;
};

/// A condition of a transaction. If the key does not exist, a comparison with its value is false.
struct Compare {
  enum class Target { version, value };
  enum class Result { equal, greater };

  std::string key;
  Target target = Target::version;
  Result result = Result::equal;
  std::string value{};
};

struct RequestOp;

/// An atomic transaction. etcd runs `success` if all conditions in `compare` are true, and `failure`
/// otherwise. etcd refuses two puts of the same key and, by default, more than 128 operations.
struct TxnRequest {
  std::vector<Compare> compare{};
  std::vector<RequestOp> success;
  std::vector<RequestOp> failure;
};

struct RequestOp {
  std::variant<RangeRequest, PutRequest, TxnRequest> request;
};

struct TxnReply {
  Header header;
  bool succeeded = false;
  /// The replies in the order of the operations. Only a range has a reply. For a put or a transaction, the
  /// item is std::nullopt.
  std::vector<std::optional<RangeReply>> responses;
};

/// A node of API v2: a key with its value, or a directory. etcd does not list nodes whose names begin with
/// `_`.
struct NodeV2 {
  std::string key;  ///< The full path of the key, with a `/` in front.
  std::string value;
  bool dir = false;
  std::vector<NodeV2> nodes;
};

struct PutV2 {
  std::string key;
  std::string value;
  std::optional<std::chrono::seconds> ttl{};
  bool must_be_new = false;
  std::optional<std::string> prev_value{};  ///< The value that the key must have before the put.
};

class Cluster;

/// A client of etcd's JSON gateway (API v3) and of API v2. In etcd, the two APIs have separate data and
/// users. A call goes to the member that answered last. If this member fails, the call goes to the next
/// member. etcd may therefore execute a call twice, except a conditional put of API v2. A Client is
/// thread-safe, and its calls block.
///
/// Errors of every call: unavailable, if no member answered; timeout, if a write may have been executed;
/// authentication, for a wrong user name or password, and with API v2 for a missing permission;
/// authorization, with API v3 for a missing permission; not_found, for a missing lease or key; invocation, if
/// the cluster refuses the request; configuration, if the members belong to different clusters or lack API
/// v2; internal, for a malformed reply. Messages contain no secret and no value.
class Client {
 public:
  /// Makes a client without opening a connection. Errors: configuration, for a malformed endpoint, an
  /// unreadable certificate file, or a user name without a password.
  static Result<std::unique_ptr<Client>> make(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<RangeReply> range(const RangeRequest& request, Deadline deadline);
  Result<void> put(const PutRequest& request, Deadline deadline);
  /// Deletes a key. Returns the deleted key with its value, or std::nullopt if the key did not exist.
  Result<std::optional<KeyValue>> delete_key(const std::string& key, Deadline deadline);
  Result<TxnReply> txn(const TxnRequest& request, Deadline deadline);

  Result<std::int64_t> lease_grant(std::chrono::seconds ttl, Deadline deadline);
  Result<void> lease_revoke(std::int64_t id, Deadline deadline);

  /// Returns a node with the newest data of the cluster, or std::nullopt if the node does not exist. Errors:
  /// invocation, if a part of `key` is `.` or `..`.
  Result<std::optional<NodeV2>> get_v2(std::string_view key, bool recursive, Deadline deadline);
  Result<void> put_v2(const PutV2& request, Deadline deadline);

 private:
  friend class Watcher;
  explicit Client(std::unique_ptr<Cluster> cluster);
  std::unique_ptr<Cluster> cluster_;
};

/// Asks the members whether they have API v3. If no member has API v3 and at least one member says so,
/// returns an error message. Otherwise, for example if no member answers before the deadline, returns
/// std::nullopt.
[[nodiscard]] std::optional<std::string> missing_api_v3(const Options& options, Deadline deadline);

struct WatchRequest {
  std::string key;
  std::string range_end{};
  std::int64_t start_revision = 1;
};

struct WatchEvent {
  bool is_delete = false;
  KeyValue kv;
  std::optional<KeyValue> prev_kv;
};

/// A stream of changes in a range of keys. If the connection breaks, the Watcher continues at any member
/// without losing or repeating an event. The client must outlive the Watcher. A Watcher is not thread-safe.
class Watcher {
 public:
  Watcher(Client& client, WatchRequest request);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Waits for the next revision with changes in the range and returns all its events. Returns an empty list
  /// at the deadline. Errors: invocation, if etcd has compacted the next revision, or if the cluster
  /// was replaced or restored from a backup, so that the caller has to read the range again and make a new
  /// Watcher; other errors, after which the next call tries again.
  Result<std::vector<WatchEvent>> next(Deadline deadline);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace rest_fcgi::etcd
