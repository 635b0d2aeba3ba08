// SPDX-License-Identifier: MIT
#pragma once

#include "etcd/fields.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/kv.h"

/// Messages of the gateway's replies. What is wrong with one is noted by `Fields`.
namespace rest_fcgi::etcd {

[[nodiscard]] Header read_header(const Fields& reply);  ///< of a reply
[[nodiscard]] KeyValue read_key_value(const Fields& fields);
[[nodiscard]] RangeReply read_range(const Fields& fields);
[[nodiscard]] PutReply read_put(const Fields& fields);
[[nodiscard]] DeleteRangeReply read_delete_range(const Fields& fields);
[[nodiscard]] TxnReply read_txn(const Fields& fields);

[[nodiscard]] Lease read_lease(const Fields& fields);
[[nodiscard]] std::vector<std::int64_t> read_leases(const Fields& fields);
[[nodiscard]] Status read_status(const Fields& fields);
[[nodiscard]] std::vector<Member> read_members(const Fields& fields);

}  // namespace rest_fcgi::etcd
