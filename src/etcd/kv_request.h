// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/etcd/kv.h"

/// Requests of the KV service as the gateway's JSON: bytes in base64, integers as strings, and what is zero,
/// empty or false left out.
namespace rest_fcgi::etcd {

[[nodiscard]] std::string to_json(const RangeRequest& request);
[[nodiscard]] std::string to_json(const PutRequest& request);
[[nodiscard]] std::string to_json(const DeleteRangeRequest& request);
[[nodiscard]] std::string to_json(const TxnRequest& request);

/// Single fields of a message; nothing where the value is zero, empty or false.
void write_bytes(JsonWriter& writer, std::string_view name, std::string_view bytes);
void write_int64(JsonWriter& writer, std::string_view name, std::int64_t value);
void write_flag(JsonWriter& writer, std::string_view name, bool value);

}  // namespace rest_fcgi::etcd
