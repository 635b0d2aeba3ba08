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

/// The time at which a call returns at the latest.
using Deadline = std::chrono::steady_clock::time_point;

// Messages of API v3, with the names of etcd's API reference. Keys and values are any bytes.

struct Header {
  std::uint64_t cluster_id = 0;
  std::int64_t revision = 0;
};

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;  ///< 1: the key is new
  std::int64_t lease = 0;    ///< 0: none
};

/// Returns the `range_end` of a range that holds all keys with this prefix.
[[nodiscard]] std::string prefix_end(std::string_view prefix);

struct RangeRequest {
  std::string key;
  std::string range_end{};    ///< empty: the range is `key` alone
  std::int64_t limit = 0;     ///< 0: no limit
  std::int64_t revision = 0;  ///< 0: the newest
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

/// A comparison of a key's version with 0, or of its value with `value`. A comparison with the value of a key
/// that does not exist is false.
struct Compare {
  enum class Target { version, value };
  enum class Result { equal, greater };

  std::string key;
  Target target = Target::version;
  Result result = Result::equal;
  std::string value{};
};

struct RequestOp;

/// An atomic transaction: runs `success` if all of `compare` are true, else `failure`. etcd takes 128
/// operations by default, and no two puts of one key.
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
  /// One element an operation. Only ranges have a reply.
  std::vector<std::optional<RangeReply>> responses;
};

// Messages of API v2.

/// A key with its value, or a directory. A directory does not list nodes whose names begin with `_`.
struct NodeV2 {
  std::string key;  ///< the whole path, with a `/` in front
  std::string value;
  bool dir = false;
  std::vector<NodeV2> nodes;  ///< of a directory, sorted
};

struct PutV2 {
  std::string key;
  std::string value;
  std::optional<std::chrono::seconds> ttl{};
  bool must_be_new = false;                 ///< fails if the key exists
  std::optional<std::string> prev_value{};  ///< fails if the key does not have this value
};

class Cluster;

/// A client of etcd's JSON gateway (API v3) and of its API v2, which has data and users of its own. A call
/// goes to the member that answered last, and to the next member when that one fails. A call that may have
/// been executed without an answer is repeated, unless it is a conditional put of API v2. Thread-safe; a call
/// blocks its own thread.
///
/// Errors of every call: unavailable (no member answered; the message has the last error of each), timeout
/// (the same for a write that may have been executed), authentication (name or password are wrong; with API
/// v2 also a missing permission), authorization, not_found (the lease, or the key of a conditional put of API
/// v2, does not exist), invocation (the cluster refuses the request: too large, too many operations,
/// compacted revision, false condition of API v2), configuration (the endpoints belong to different clusters,
/// a file of a certificate is malformed, or a member has no API v2), internal (malformed reply). Messages
/// hold no password, token or value.
class Client {
 public:
  /// Opens no connection. Errors: configuration, for malformed endpoints, unreadable files of certificates,
  /// and a name without a password.
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Result<RangeReply> range(const RangeRequest& request, Deadline deadline);
  Result<void> put(const PutRequest& request, Deadline deadline);
  /// Deletes one key. Returns what it held.
  Result<std::optional<KeyValue>> delete_key(const std::string& key, Deadline deadline);
  [[nodiscard]] Result<TxnReply> txn(const TxnRequest& request, Deadline deadline);

  /// Returns the ID of a new lease.
  [[nodiscard]] Result<std::int64_t> lease_grant(std::chrono::seconds ttl, Deadline deadline);
  Result<void> lease_revoke(std::int64_t id, Deadline deadline);

  /// Returns the node that a majority of the members has. Consecutive slashes in `key` count as one. Errors:
  /// invocation, if a part of `key` is `.` or `..`.
  [[nodiscard]] Result<std::optional<NodeV2>> get_v2(std::string_view key, bool recursive, Deadline deadline);
  [[nodiscard]] Result<void> put_v2(const PutV2& request, Deadline deadline);

 private:
  friend class Watcher;
  explicit Client(std::unique_ptr<Cluster> cluster);
  std::unique_ptr<Cluster> cluster_;
};

/// Asks the members whether they have API v3. Returns the answer of a member that lacks it. Absent: a member
/// has API v3, or no member answers before the deadline.
[[nodiscard]] std::optional<std::string> missing_api_v3(const Options& options, Deadline deadline);

struct WatchRequest {
  std::string key;
  std::string range_end{};          ///< empty: `key` alone
  std::int64_t start_revision = 1;  ///< the first revision whose events are returned
};

struct WatchEvent {
  bool is_delete = false;
  KeyValue kv;
  std::optional<KeyValue> prev_kv;
};

/// A stream of changes. After a broken connection it continues at any member with the next revision, so that
/// no event is lost or repeated. The client must outlive it. For one thread at a time.
class Watcher {
 public:
  /// Opens no connection.
  Watcher(Client& client, WatchRequest request);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Returns all events of the next revision; none if the deadline comes first. Errors: invocation, from then
  /// on, if the next revision was compacted or the cluster was replaced: read the range again, and watch from
  /// the revision after that read. Otherwise as of every call of `Client`; the next call tries again.
  [[nodiscard]] Result<std::vector<WatchEvent>> next(Deadline deadline);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace rest_fcgi::etcd
