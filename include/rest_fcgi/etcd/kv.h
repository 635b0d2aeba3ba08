// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Requests and replies of etcd's KV service (etcd API reference, v3), by its names. Keys and values are any
/// bytes; base64 is the gateway's business and not seen here. Plain values.
namespace rest_fcgi::etcd {

/// Of every reply.
struct Header {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::int64_t revision = 0;
  std::uint64_t raft_term = 0;
};

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::int64_t lease = 0;  ///< 0: none
};

/// The least key that is greater than all that begin with `prefix`: the `range_end` that means them all.
[[nodiscard]] std::string prefix_end(std::string_view prefix);

enum class SortOrder { none, ascend, descend };
enum class SortTarget { key, version, create, mod, value };

struct RangeRequest {
  std::string key;
  std::string range_end{};    ///< empty: that key alone
  std::int64_t limit = 0;     ///< 0: all
  std::int64_t revision = 0;  ///< 0: the newest
  SortOrder sort_order = SortOrder::none;
  SortTarget sort_target = SortTarget::key;
  bool serializable = false;  ///< from the member itself: perhaps stale, and also without a quorum
  bool keys_only = false;
  bool count_only = false;
  std::int64_t min_mod_revision = 0;
  std::int64_t max_mod_revision = 0;
  std::int64_t min_create_revision = 0;
  std::int64_t max_create_revision = 0;
};

struct RangeReply {
  Header header;
  std::vector<KeyValue> kvs;
  bool more = false;
  std::int64_t count = 0;  ///< of all that match, beyond any limit
};

struct PutRequest {
  std::string key;
  std::string value;
  std::int64_t lease = 0;
  bool prev_kv = false;
  bool ignore_value = false;
  bool ignore_lease = false;
};

struct PutReply {
  Header header;
  std::optional<KeyValue> prev_kv;
};

struct DeleteRangeRequest {
  std::string key;
  std::string range_end{};
  bool prev_kv = false;
};

struct DeleteRangeReply {
  Header header;
  std::int64_t deleted = 0;
  std::vector<KeyValue> prev_kvs;
};

struct Compare {
  enum class Result { equal, greater, less, not_equal };
  enum class Target { version, create, mod, value, lease };

  std::string key;
  Target target = Target::version;
  Result result = Result::equal;
  std::int64_t number = 0;  ///< what a version, revision or lease is compared with
  std::string value{};      ///< what a value is compared with; that of an absent key never holds
  std::string range_end{};  ///< empty: that key alone
};

struct RequestOp;

/// Atomic: `success` where all of `compare` hold, else `failure`. At most 128 operations (the server's
/// default), no key put twice.
struct TxnRequest {
  std::vector<Compare> compare{};
  std::vector<RequestOp> success;
  std::vector<RequestOp> failure;
};

struct RequestOp {
  std::variant<RangeRequest, PutRequest, DeleteRangeRequest, TxnRequest> request;
};

struct ResponseOp;

struct TxnReply {
  Header header;
  bool succeeded = false;
  std::vector<ResponseOp> responses;
};

struct ResponseOp {
  std::variant<RangeReply, PutReply, DeleteRangeReply, TxnReply> response;
};

}  // namespace rest_fcgi::etcd
