// SPDX-License-Identifier: MIT
#include "etcd/kv.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// Six bits; 64 for what is no character of the alphabet.
constexpr unsigned sextet(char c) noexcept {
  const auto from = [c](char first) { return static_cast<unsigned>(c - first); };
  if (c >= 'A' && c <= 'Z') return from('A');
  if (c >= 'a' && c <= 'z') return from('a') + 26;
  if (c >= '0' && c <= '9') return from('0') + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : 64;
}

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

constexpr std::array<std::string_view, 3> kOrders{"NONE", "ASCEND", "DESCEND"};
constexpr std::array<std::string_view, 5> kSortTargets{"KEY", "VERSION", "CREATE", "MOD", "VALUE"};
constexpr std::array<std::string_view, 4> kResults{"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
constexpr std::array<std::string_view, 5> kTargets{"VERSION", "CREATE", "MOD", "VALUE", "LEASE"};
constexpr std::array<std::string_view, 5> kComparedWith{"version", "create_revision", "mod_revision", "value",
                                                        "lease"};
constexpr std::array<std::string_view, 4> kRequests{"request_range", "request_put", "request_delete_range",
                                                    "request_txn"};  // in the order of the variant

void write(JsonWriter& writer, const RangeRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "range_end", request.range_end);
  write_int64(writer, "limit", request.limit);
  write_int64(writer, "revision", request.revision);
  if (request.sort_order != SortOrder::none) {
    writer.key("sort_order").string(kOrders[static_cast<std::size_t>(request.sort_order)]);
    writer.key("sort_target").string(kSortTargets[static_cast<std::size_t>(request.sort_target)]);
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
  writer.key("target").string(kTargets[static_cast<std::size_t>(compare.target)]);
  writer.key("result").string(kResults[static_cast<std::size_t>(compare.result)]);
  std::string with;
  if (compare.target == Compare::Target::value) {
    append_base64(with, compare.value);
  } else {
    with = std::to_string(compare.number);
  }
  writer.key(kComparedWith[static_cast<std::size_t>(compare.target)]).string(with).end_object();
}

void write(JsonWriter& writer, const TxnRequest& request);

void write(JsonWriter& writer, const RequestOp& op) {
  writer.begin_object().key(kRequests[op.request.index()]);
  std::visit([&writer](const auto& request) { write(writer, request); }, op.request);
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

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned bits = i < text.size() - padding ? sextet(text[i]) : 0;
    if (bits > 63) return std::nullopt;
    group = group << 6U | bits;
    if (i % 4 != 3) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes.push_back(static_cast<char>(group >> shift & 255U));
    group = 0;
  }
  // Bits that the padding leaves over have to be none: one text for the same bytes.
  for (std::size_t i = 0; i < padding; ++i) {
    if (bytes.back() != '\0') return std::nullopt;
    bytes.pop_back();
  }
  return bytes;
}

Fields::Fields(JsonValue message, std::string& mistake) : message_(message), mistake_(mistake) {
  if (!message.is(JsonValue::Kind::object)) note("a message", "an object");
}

void Fields::note(std::string_view name, std::string_view expected) const {
  if (mistake_.empty()) mistake_ = format("{} is not {}", name, expected);
}

JsonValue Fields::find(std::string_view name, JsonValue::Kind kind) const {
  const JsonValue value = message_.find(name).value_or(JsonValue());
  if (value.is(kind) || value.is(JsonValue::Kind::null)) return value;
  constexpr std::string_view kKinds[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "a list",    "an object"};
  note(name, kKinds[static_cast<std::size_t>(kind)]);
  return {};
}

template <class Number>
Number Fields::integer(std::string_view name) const {
  const std::optional<JsonValue> value = message_.find(name);
  if (!value || value->is(JsonValue::Kind::null)) return 0;
  const std::string_view text = value->text();
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  note(name, "an integer of 64 bits");
  return 0;
}

std::int64_t Fields::int64(std::string_view name) const {
  return integer<std::int64_t>(name);
}

std::uint64_t Fields::uint64(std::string_view name) const {
  return integer<std::uint64_t>(name);
}

bool Fields::boolean(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::boolean);
  return value.is(JsonValue::Kind::boolean) && value.boolean();
}

std::string Fields::text(std::string_view name) const {
  return std::string(find(name, JsonValue::Kind::string).text());
}

std::string Fields::bytes(std::string_view name) const {
  return decoded(name, find(name, JsonValue::Kind::string));
}

std::string Fields::decoded(std::string_view name, JsonValue value) const {
  std::optional<std::string> bytes = from_base64(value.text());
  if (!bytes) note(name, "base64");
  return std::move(bytes).value_or(std::string());
}

std::vector<std::string> Fields::texts(std::string_view name) const {
  std::vector<std::string> list;
  for (const JsonValue element : find(name, JsonValue::Kind::array).elements()) {
    if (!element.is(JsonValue::Kind::string)) note(name, "a list of strings");
    list.emplace_back(element.text());
  }
  return list;
}

std::vector<std::string> Fields::list_of_bytes(std::string_view name) const {
  std::vector<std::string> list;
  for (const JsonValue element : find(name, JsonValue::Kind::array).elements()) {
    list.push_back(decoded(name, element));
  }
  return list;
}

std::optional<Fields> Fields::message(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::object);
  if (value.is(JsonValue::Kind::null)) return std::nullopt;
  return Fields(value, mistake_);
}

std::optional<Fields> Fields::require(std::string_view name) const {
  std::optional<Fields> found = message(name);
  if (!found) note(name, "there");
  return found;
}

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

template <class Request>
std::string to_json(const Request& request) {
  std::string text;
  JsonWriter writer(text);
  write(writer, request);
  return text;
}
template std::string to_json(const RangeRequest&);
template std::string to_json(const PutRequest&);
template std::string to_json(const DeleteRangeRequest&);
template std::string to_json(const TxnRequest&);

}  // namespace rest_fcgi::etcd
