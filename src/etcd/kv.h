// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/kv.h"

/// Messages of the gateway's requests and replies as JSON: bytes in base64 (RFC 4648, section 4, with
/// padding), integers as strings, and what is zero, empty or false left out.
namespace rest_fcgi::etcd {

/// How many characters `size` bytes become.
[[nodiscard]] constexpr std::size_t base64_size(std::size_t size) noexcept {
  return (size + 2) / 3 * 4;
}

/// Absent where `text` is not exactly what `append_base64` writes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// The fields of one message in a reply. The gateway leaves out what is zero, empty or false, so that is what
/// an absent field reads as; of one that is something else, `mistake` notes the first. Valid as long as the
/// document and `mistake`.
class Fields {
 public:
  Fields(JsonValue message, std::string& mistake);

  /// From a string of digits, as the gateway writes them, or a number.
  [[nodiscard]] std::int64_t int64(std::string_view name) const;
  [[nodiscard]] std::uint64_t uint64(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  /// From base64.
  [[nodiscard]] std::string bytes(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> list_of_bytes(std::string_view name) const;

  /// A message inside this one.
  [[nodiscard]] std::optional<Fields> message(std::string_view name) const;
  /// The same, where its absence is a mistake.
  [[nodiscard]] std::optional<Fields> require(std::string_view name) const;

  /// What `read` makes of each message of a list.
  template <class Read>
  [[nodiscard]] auto each(std::string_view name, const Read& read) const {
    std::vector<std::invoke_result_t<Read, const Fields&>> list;
    const JsonValue value = find(name, JsonValue::Kind::array);
    list.reserve(value.size());
    for (const JsonValue element : value.elements()) list.push_back(read(Fields(element, mistake_)));
    return list;
  }

 private:
  /// Null where it is absent, or of another kind.
  [[nodiscard]] JsonValue find(std::string_view name, JsonValue::Kind kind) const;
  template <class Number>
  [[nodiscard]] Number integer(std::string_view name) const;
  [[nodiscard]] std::string decoded(std::string_view name, JsonValue value) const;
  void note(std::string_view name, std::string_view expected) const;

  JsonValue message_;
  std::string& mistake_;
};

/// Reads a whole reply. Errors: internal, with what is wrong and where.
template <class Reply>
[[nodiscard]] Result<Reply> read_reply(const JsonDocument& document, Reply (*read)(const Fields&)) {
  std::string mistake;
  Reply reply = read(Fields(document.root(), mistake));
  if (mistake.empty()) return reply;
  return Error{ErrorKind::internal, "etcd: a reply that is none: " + mistake};
}

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

/// Of any request of the KV service.
template <class Request>
[[nodiscard]] std::string to_json(const Request& request);

/// Single fields of a message; nothing where the value is zero, empty or false.
void write_bytes(JsonWriter& writer, std::string_view name, std::string_view bytes);
void write_int64(JsonWriter& writer, std::string_view name, std::int64_t value);
void write_flag(JsonWriter& writer, std::string_view name, bool value);

}  // namespace rest_fcgi::etcd
