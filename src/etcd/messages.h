// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"

/// Messages of etcd's API v3 in the JSON form of etcd's gateway. Bytes are base64 (RFC 4648, section 4, with
/// padding), and integers are strings. MessageFields that are zero, empty or false are left out.
namespace rest_fcgi::etcd {

/// Reads the fields of a message. For an absent field, returns zero, false or an empty text. `mistake`
/// receives a text about the first malformed field. The document and `mistake` must outlive this object.
class MessageFields {
 public:
  MessageFields(JsonValue message, std::string& mistake);

  [[nodiscard]] std::int64_t int64(std::string_view name) const;
  [[nodiscard]] std::uint64_t uint64(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::string bytes(std::string_view name) const;

  [[nodiscard]] std::optional<MessageFields> message(std::string_view name) const;
  /// Returns the message in a field. If the field is absent, reports the field as malformed.
  [[nodiscard]] std::optional<MessageFields> require(std::string_view name) const;

  template <class Read>
  [[nodiscard]] auto each(std::string_view name, const Read& read) const {
    std::vector<std::invoke_result_t<Read, const MessageFields&>> list;
    const JsonValue value = find(name, JsonValue::Kind::array);
    list.reserve(value.size());
    for (const JsonValue element : value.elements()) list.push_back(read(MessageFields(element, mistake_)));
    return list;
  }

 private:
  [[nodiscard]] JsonValue find(std::string_view name, JsonValue::Kind kind) const;
  template <class Number>
  [[nodiscard]] Number integer(std::string_view name) const;
  void note(std::string_view name, std::string_view expected) const;

  JsonValue message_;
  std::string& mistake_;
};

/// Reads a reply. Errors: internal, with the first malformed field.
template <class Reply>
Result<Reply> read_reply(const JsonDocument& document, Reply (*read)(const MessageFields&)) {
  std::string mistake;
  Reply reply = read(MessageFields(document.root(), mistake));
  if (mistake.empty()) return reply;
  return Error{ErrorKind::internal, "etcd: malformed reply: " + mistake};
}

struct Status {
  std::uint64_t cluster_id = 0;
  std::uint64_t leader = 0;  ///< `leader` is the leader's ID. 0 if the member sees no leader.
};

[[nodiscard]] Header read_header(const MessageFields& reply);
[[nodiscard]] KeyValue read_key_value(const MessageFields& fields);
[[nodiscard]] std::optional<KeyValue> read_prev_kv(const MessageFields& fields);
[[nodiscard]] RangeReply read_range(const MessageFields& fields);
[[nodiscard]] TxnReply read_txn(const MessageFields& fields);
[[nodiscard]] Status read_status(const MessageFields& fields);

[[nodiscard]] std::string to_json(const RangeRequest& request);
[[nodiscard]] std::string to_json(const TxnRequest& request);
[[nodiscard]] std::string to_json(const PutRequest& request);

void write_bytes(JsonWriter& writer, std::string_view name, std::string_view bytes);
void write_int64(JsonWriter& writer, std::string_view name, std::int64_t value);
void write_flag(JsonWriter& writer, std::string_view name, bool value);

}  // namespace rest_fcgi::etcd
