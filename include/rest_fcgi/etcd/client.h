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

/// The latest time at which a call returns.
using Deadline = std::chrono::steady_clock::time_point;

// The messages of API v3. Types and members have the names of etcd's API reference. Keys and values may hold
// any bytes.

struct Header {
  std::uint64_t cluster_id = 0;
  std::int64_t revision = 0;
};

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;  ///< number of writes since the key was created; 1 for a new key
  std::int64_t lease = 0;    ///< id of the key's lease; 0 if the key has no lease
};

/// Returns the `range_end` for a range of all keys that begin with `prefix`.
[[nodiscard]] std::string prefix_end(std::string_view prefix);

struct RangeRequest {
  std::string key;
  std::string range_end{};    ///< end of the range, exclusive; if empty, the range is only `key`
  std::int64_t limit = 0;     ///< largest number of keys in the reply; 0 means no limit
  std::int64_t revision = 0;  ///< revision of the data to read; 0 means the newest
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

/// A condition of a transaction. The target `version` compares the key's version with 0, and the target
/// `value` compares the key's value with the member `value`. A comparison with the value of a missing key is
/// false.
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
/// otherwise. By default etcd accepts at most 128 operations in one transaction. It refuses two puts of the
/// same key.
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
  /// One element for each operation. Only a range has a reply; the elements of other operations are absent.
  std::vector<std::optional<RangeReply>> responses;
};

// Messages of API v2.

/// A key with its value, or a directory. The list of a directory's nodes does not include nodes whose names
/// begin with `_`.
struct NodeV2 {
  std::string key;  ///< the whole path of the key, with a `/` in front
  std::string value;
  bool dir = false;
  std::vector<NodeV2> nodes;  ///< the nodes in a directory, sorted by key
};

struct PutV2 {
  std::string key;
  std::string value;
  std::optional<std::chrono::seconds> ttl{};
  bool must_be_new = false;                 ///< whether the put fails if the key exists
  std::optional<std::string> prev_value{};  ///< if set, the put fails unless the key has this value
};

class Cluster;

/// A client of etcd's JSON gateway (API v3) and of etcd's API v2. In etcd the two APIs have separate data and
/// users. A call goes to the member that answered last. If that member fails, the call goes to the next
/// member. A call without an answer is repeated, although etcd may have executed it already. Only a
/// conditional put of API v2 is not repeated. Thread-safe. A call blocks the calling thread.
///
/// Errors of every call: unavailable, if no member answered; the message has the last error of each member.
/// timeout, if no member answered a write, and the write may have been executed. authentication, if name or
/// password are wrong; with API v2 also if a permission is missing. authorization, if a permission is
/// missing. not_found, if the lease or the key of a conditional put of API v2 does not exist. invocation, if
/// the cluster refuses the request: it is too large, has too many operations, names a compacted revision, or
/// its condition in API v2 is false. configuration, if the endpoints belong to different clusters, a
/// certificate file is malformed, or a member has no API v2. internal, if a reply is malformed. Messages
/// contain no password, token or value.
class Client {
 public:
  /// Makes a client without opening a connection. Errors: configuration, for a malformed endpoint, an
  /// unreadable certificate file, or a user name without a password.
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Result<RangeReply> range(const RangeRequest& request, Deadline deadline);
  Result<void> put(const PutRequest& request, Deadline deadline);
  /// Deletes one key. Returns the deleted key with its value; absent if the key did not exist.
  Result<std::optional<KeyValue>> delete_key(const std::string& key, Deadline deadline);
  [[nodiscard]] Result<TxnReply> txn(const TxnRequest& request, Deadline deadline);

  /// Makes a lease that lives for `ttl`, and returns its ID.
  [[nodiscard]] Result<std::int64_t> lease_grant(std::chrono::seconds ttl, Deadline deadline);
  Result<void> lease_revoke(std::int64_t id, Deadline deadline);

  /// Returns the node with this key as a majority of the members stores it; absent if there is no such node.
  /// Consecutive slashes in `key` count as one slash. Errors: invocation, if a part of `key` is `.` or `..`.
  [[nodiscard]] Result<std::optional<NodeV2>> get_v2(std::string_view key, bool recursive, Deadline deadline);
  [[nodiscard]] Result<void> put_v2(const PutV2& request, Deadline deadline);

 private:
  friend class Watcher;
  explicit Client(std::unique_ptr<Cluster> cluster);
  std::unique_ptr<Cluster> cluster_;
};

/// Asks the members whether they have API v3. If a member lacks API v3, returns the text of its answer.
/// Returns absent if a member has API v3, or if no member answers before the deadline.
[[nodiscard]] std::optional<std::string> missing_api_v3(const Options& options, Deadline deadline);

struct WatchRequest {
  std::string key;
  std::string range_end{};          ///< end of the watched range, exclusive; if empty, only `key` is watched
  std::int64_t start_revision = 1;  ///< first revision whose events are returned
};

struct WatchEvent {
  bool is_delete = false;
  KeyValue kv;
  std::optional<KeyValue> prev_kv;
};

/// A stream of changes in a range of keys. If a connection breaks, the Watcher continues at any member with
/// the next revision. So no event is lost or repeated. The client must outlive the Watcher. Used by one
/// thread at a time.
class Watcher {
 public:
  /// Makes a watcher without opening a connection.
  Watcher(Client& client, WatchRequest request);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Waits for the next revision with changes and returns all its events. Returns an empty list at the
  /// deadline. Errors: invocation, if the next revision was compacted or the cluster was replaced. All later
  /// calls then fail, too; the caller has to read the range again and make a new watcher from the revision
  /// after that read. Other errors are those of `Client`, and the next call tries again.
  [[nodiscard]] Result<std::vector<WatchEvent>> next(Deadline deadline);

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace rest_fcgi::etcd
