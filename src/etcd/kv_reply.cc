// SPDX-License-Identifier: MIT
#include "etcd/kv_reply.h"

namespace rest_fcgi::etcd {
namespace {

std::optional<KeyValue> read_prev_kv(const Fields& fields) {
  const std::optional<Fields> prev_kv = fields.message("prev_kv");
  return prev_kv ? std::optional(read_key_value(*prev_kv)) : std::nullopt;
}

ResponseOp read_response(const Fields& fields) {
  if (const std::optional<Fields> range = fields.message("response_range")) return {read_range(*range)};
  if (const std::optional<Fields> put = fields.message("response_put")) return {read_put(*put)};
  if (const std::optional<Fields> txn = fields.message("response_txn")) return {read_txn(*txn)};
  const std::optional<Fields> deleted = fields.require("response_delete_range");
  return {deleted ? read_delete_range(*deleted) : DeleteRangeReply{}};
}

}  // namespace

Header read_header(const Fields& reply) {
  const std::optional<Fields> fields = reply.message("header");
  if (!fields) return {};
  return {fields->uint64("cluster_id"), fields->uint64("member_id"), fields->int64("revision"),
          fields->uint64("raft_term")};
}

KeyValue read_key_value(const Fields& fields) {
  return {.key = fields.bytes("key"),
          .value = fields.bytes("value"),
          .create_revision = fields.int64("create_revision"),
          .mod_revision = fields.int64("mod_revision"),
          .version = fields.int64("version"),
          .lease = fields.int64("lease")};
}

RangeReply read_range(const Fields& fields) {
  return {.header = read_header(fields),
          .kvs = fields.each("kvs", read_key_value),
          .more = fields.boolean("more"),
          .count = fields.int64("count")};
}

PutReply read_put(const Fields& fields) {
  return {.header = read_header(fields), .prev_kv = read_prev_kv(fields)};
}

DeleteRangeReply read_delete_range(const Fields& fields) {
  return {.header = read_header(fields),
          .deleted = fields.int64("deleted"),
          .prev_kvs = fields.each("prev_kvs", read_key_value)};
}

TxnReply read_txn(const Fields& fields) {
  return {.header = read_header(fields),
          .succeeded = fields.boolean("succeeded"),
          .responses = fields.each("responses", read_response)};
}

Lease read_lease(const Fields& fields) {
  return {.id = fields.int64("ID"),
          .ttl = fields.int64("TTL"),
          .granted_ttl = fields.int64("grantedTTL"),
          .keys = fields.list_of_bytes("keys")};
}

std::vector<std::int64_t> read_leases(const Fields& fields) {
  return fields.each("leases", [](const Fields& lease) { return lease.int64("ID"); });
}

Status read_status(const Fields& fields) {
  return {.header = read_header(fields),
          .version = fields.text("version"),
          .db_size = fields.int64("dbSize"),
          .db_size_in_use = fields.int64("dbSizeInUse"),
          .leader = fields.uint64("leader"),
          .raft_index = fields.uint64("raftIndex"),
          .raft_term = fields.uint64("raftTerm"),
          .raft_applied_index = fields.uint64("raftAppliedIndex"),
          .is_learner = fields.boolean("isLearner"),
          .errors = fields.texts("errors")};
}

std::vector<Member> read_members(const Fields& fields) {
  return fields.each("members", [](const Fields& member) {
    return Member{.id = member.uint64("ID"),
                  .name = member.text("name"),
                  .peer_urls = member.texts("peerURLs"),
                  .client_urls = member.texts("clientURLs"),
                  .is_learner = member.boolean("isLearner")};
  });
}

}  // namespace rest_fcgi::etcd
