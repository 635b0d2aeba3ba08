// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

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

}  // namespace rest_fcgi::etcd
