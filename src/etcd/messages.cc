// SPDX-License-Identifier: MIT
#include "etcd/messages.h"

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::etcd {
namespace {

constexpr std::array<std::string_view, 2> kResults{"EQUAL", "GREATER"};
constexpr std::array<std::string_view, 3> kRequests{"request_range", "request_put", "request_txn"};

void write(JsonWriter& writer, const RangeRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "range_end", request.range_end);
  write_int64(writer, "limit", request.limit);
  write_int64(writer, "revision", request.revision);
  writer.end_object();
}

void write(JsonWriter& writer, const PutRequest& request) {
  writer.begin_object();
  write_bytes(writer, "key", request.key);
  write_bytes(writer, "value", request.value);
  write_int64(writer, "lease", request.lease);
  writer.end_object();
}

/// Writes the compared field even if it is empty, because its presence selects what etcd compares.
void write(JsonWriter& writer, const Compare& compare) {
  const bool is_value = compare.target == Compare::Target::value;
  writer.begin_object();
  write_bytes(writer, "key", compare.key);
  writer.key("target").string(is_value ? "VALUE" : "VERSION");
  writer.key("result").string(kResults[static_cast<std::size_t>(compare.result)]);
  std::string value;
  append_base64(value, compare.value);
  is_value ? writer.key("value").string(value) : writer.key("version").string("0");
  writer.end_object();
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

MessageFields::MessageFields(JsonValue message, std::string& mistake) : message_(message), mistake_(mistake) {
  if (!message.is(JsonValue::Kind::object)) note("message", "an object");
}

void MessageFields::note(std::string_view name, std::string_view expected) const {
  if (mistake_.empty()) mistake_ = format("{}: expected {}", name, expected);
}

JsonValue MessageFields::find(std::string_view name, JsonValue::Kind kind) const {
  const JsonValue value = message_.find(name).value_or(JsonValue());
  if (value.is(kind) || value.is(JsonValue::Kind::null)) return value;
  constexpr std::string_view kKinds[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "a list",    "an object"};
  note(name, kKinds[static_cast<std::size_t>(kind)]);
  return {};
}

template <class Number>
Number MessageFields::integer(std::string_view name) const {
  const std::optional<JsonValue> value = message_.find(name);
  if (!value || value->is(JsonValue::Kind::null)) return 0;
  const std::optional<Number> number = parse_number<Number>(value->text());
  if (!number) note(name, "an integer of 64 bits");
  return number.value_or(0);
}

std::int64_t MessageFields::int64(std::string_view name) const {
  return integer<std::int64_t>(name);
}

std::uint64_t MessageFields::uint64(std::string_view name) const {
  return integer<std::uint64_t>(name);
}

bool MessageFields::boolean(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::boolean);
  return value.is(JsonValue::Kind::boolean) && value.boolean();
}

std::string MessageFields::text(std::string_view name) const {
  return std::string(find(name, JsonValue::Kind::string).text());
}

std::string MessageFields::bytes(std::string_view name) const {
  std::optional<std::string> bytes = from_base64(find(name, JsonValue::Kind::string).text());
  if (!bytes) note(name, "base64");
  return std::move(bytes).value_or(std::string());
}

std::optional<MessageFields> MessageFields::message(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::object);
  if (value.is(JsonValue::Kind::null)) return std::nullopt;
  return MessageFields(value, mistake_);
}

std::optional<MessageFields> MessageFields::require(std::string_view name) const {
  std::optional<MessageFields> found = message(name);
  if (!found) note(name, "a message");
  return found;
}

Header read_header(const MessageFields& reply) {
  const std::optional<MessageFields> fields = reply.message("header");
  return fields ? Header{fields->uint64("cluster_id"), fields->int64("revision"), fields->uint64("raft_term")}
                : Header{};
}

KeyValue read_key_value(const MessageFields& fields) {
  return {.key = fields.bytes("key"),
          .value = fields.bytes("value"),
          .mod_revision = fields.int64("mod_revision"),
          .version = fields.int64("version"),
          .lease = fields.int64("lease")};
}

std::optional<KeyValue> read_prev_kv(const MessageFields& fields) {
  const std::optional<MessageFields> prev_kv = fields.message("prev_kv");
  return prev_kv ? std::optional(read_key_value(*prev_kv)) : std::nullopt;
}

RangeReply read_range(const MessageFields& fields) {
  return {.header = read_header(fields),
          .kvs = fields.each("kvs", read_key_value),
          .more = fields.boolean("more")};
}

TxnReply read_txn(const MessageFields& fields) {
  return {.header = read_header(fields),
          .succeeded = fields.boolean("succeeded"),
          .responses = fields.each("responses", [](const MessageFields& response) {
            const std::optional<MessageFields> range = response.message("response_range");
            return range ? std::optional(read_range(*range)) : std::nullopt;
          })};
}

Status read_status(const MessageFields& fields) {
  return {read_header(fields).cluster_id, fields.uint64("leader")};
}

void write_bytes(JsonWriter& writer, std::string_view name, std::string_view bytes) {
  if (bytes.empty()) return;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4 + 2);
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
  return written_json([&](JsonWriter& writer) { write(writer, request); }).text();
}

std::string to_json(const TxnRequest& request) {
  return written_json([&](JsonWriter& writer) { write(writer, request); }).text();
}

std::string to_json(const PutRequest& request) {
  return written_json([&](JsonWriter& writer) { write(writer, request); }).text();
}

}  // namespace rest_fcgi::etcd
