// SPDX-License-Identifier: MIT
#include "etcd/kv_request.h"

#include <array>
#include <cstddef>

#include "etcd/base64.h"

namespace rest_fcgi::etcd {
namespace {

template <class Enum, std::size_t kSize>
std::string_view name_of(Enum value, const std::array<std::string_view, kSize>& names) {
  return names[static_cast<std::size_t>(value)];
}

constexpr std::array<std::string_view, 3> kOrders{"NONE", "ASCEND", "DESCEND"};
constexpr std::array<std::string_view, 5> kSortTargets{"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
constexpr std::array<std::string_view, 4> kResults{"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
constexpr std::array<std::string_view, 5> kTargets{"VERSION", "CREATE", "MOD", "VALUE", "LEASE"};
constexpr std::array<std::string_view, 5> kComparedWith{"version", "create_revision", "mod_revision", "value",
                                                        "lease"};

void write(JsonWriter& writer, const RangeRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "range_end", request.range_end);
  write_int64(writer, "limit", request.limit);
  write_int64(writer, "revision", request.revision);
  if (request.sort_order != SortOrder::none) {
    writer.key("sort_order").string(name_of(request.sort_order, kOrders));
    writer.key("sort_target").string(name_of(request.sort_target, kSortTargets));
  }
  write_flag(writer, "serializable", request.serializable);
  write_flag(writer, "keys_only", request.keys_only);
  write_flag(writer, "count_only", request.count_only);
  write_int64(writer, "min_mod_revision", request.min_mod_revision);
  write_int64(writer, "max_mod_revision", request.max_mod_revision);
  write_int64(writer, "min_create_revision", request.min_create_revision);
  write_int64(writer, "max_create_revision", request.max_create_revision);
  writer.end_object();
}

void write(JsonWriter& writer, const PutRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "value", request.value);
  write_int64(writer, "lease", request.lease);
  write_flag(writer, "prev_kv", request.prev_kv);
  write_flag(writer, "ignore_value", request.ignore_value);
  write_flag(writer, "ignore_lease", request.ignore_lease);
  writer.end_object();
}

void write(JsonWriter& writer, const DeleteRangeRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "range_end", request.range_end);
  write_flag(writer, "prev_kv", request.prev_kv);
  writer.end_object();
}

/// What it is compared with is always said, also where it is zero: that names the member of the union.
void write(JsonWriter& writer, const Compare& compare) {
  writer.begin_object();
  write_bytes(writer, "key", compare.key);
  write_bytes(writer, "range_end", compare.range_end);
  writer.key("target").string(name_of(compare.target, kTargets));
  writer.key("result").string(name_of(compare.result, kResults));
  writer.key(name_of(compare.target, kComparedWith));
  if (compare.target == Compare::Target::value) {
    std::string text;
    append_base64(text, compare.value);
    writer.string(text);
  } else {
    writer.string(std::to_string(compare.number));
  }
  writer.end_object();
}

void write(JsonWriter& writer, const TxnRequest& request);

void write_key_of(JsonWriter& writer, const RangeRequest&) {
  writer.key("request_range");
}
void write_key_of(JsonWriter& writer, const PutRequest&) {
  writer.key("request_put");
}
void write_key_of(JsonWriter& writer, const DeleteRangeRequest&) {
  writer.key("request_delete_range");
}
void write_key_of(JsonWriter& writer, const TxnRequest&) {
  writer.key("request_txn");
}

void write(JsonWriter& writer, const RequestOp& op) {
  writer.begin_object();
  std::visit(
      [&writer](const auto& request) {
        write_key_of(writer, request);
        write(writer, request);
      },
      op.request);
  writer.end_object();
}

template <class Message>
void write_list(JsonWriter& writer, std::string_view name, const std::vector<Message>& list) {
  if (list.empty()) return;
  writer.key(name).begin_array();
  for (const Message& message : list) write(writer, message);
  writer.end_array();
}

void write(JsonWriter& writer, const TxnRequest& request) {
  writer.begin_object();
  write_list(writer, "compare", request.compare);
  write_list(writer, "success", request.success);
  write_list(writer, "failure", request.failure);
  writer.end_object();
}

template <class Request>
std::string text_of(const Request& request) {
  std::string text;
  JsonWriter writer(text);
  write(writer, request);
  return text;
}

}  // namespace

void write_bytes(JsonWriter& writer, std::string_view name, std::string_view bytes) {
  if (bytes.empty()) return;
  std::string text;
  text.reserve(base64_size(bytes.size()) + 2);
  text.push_back('"');
  append_base64(text, bytes);
  text.push_back('"');
  writer.key(name).raw(text);
}

void write_int64(JsonWriter& writer, std::string_view name, std::int64_t value) {
  if (value != 0) writer.key(name).string(std::to_string(value));
}

void write_flag(JsonWriter& writer, std::string_view name, bool value) {
  if (value) writer.key(name).boolean(true);
}

std::string to_json(const RangeRequest& request) {
  return text_of(request);
}
std::string to_json(const PutRequest& request) {
  return text_of(request);
}
std::string to_json(const DeleteRangeRequest& request) {
  return text_of(request);
}
std::string to_json(const TxnRequest& request) {
  return text_of(request);
}

}  // namespace rest_fcgi::etcd
