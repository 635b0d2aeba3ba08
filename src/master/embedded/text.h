// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"

/// How this engine writes JSON text, reads JSON values, and takes plain text apart.
namespace rest_fcgi::embedded {

/// The arguments of a call as two members of an object that is begun: an array, and an object.
template <class Values, class Members>
void write_arguments(JsonWriter& writer, std::string_view args_key, const Values& args,
                     std::string_view kwargs_key, const Members& kwargs) {
  writer.key(args_key).begin_array();
  for (const JsonValue value : args) value.write(writer);
  writer.end_array().key(kwargs_key).begin_object();
  for (const auto& [key, value] : kwargs) value.write(writer.key(key));
  writer.end_object();
}

/// The member of that name; null where there is none.
[[nodiscard]] inline JsonValue member_of(const JsonValue& object, std::string_view key) {
  return object.find(key).value_or(JsonValue());
}

/// One step down into a value: a member of an object; an element of a list by its number, counted from the
/// end where that is negative, or the member of that name of the first object in the list that has one.
[[nodiscard]] std::optional<JsonValue> step_into(const JsonValue& value, std::string_view step);

/// Writes `over` laid over `base`, both objects, member by member and as deep as both have objects there;
/// lists are joined without repeats where `merge_lists`, and else replaced (salt.utils.dictupdate.update).
void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists);

/// Writes the elements of `base`, then those of `over` that `base` has not.
void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over);

/// What a file says now; no more than its first `most` bytes. Absent where it cannot be read, or vanishes
/// meanwhile. Never waits for a pipe's other end.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path, std::size_t most = 4 << 20);

/// The lines that are not empty.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// What stands between delimiters, also where that is nothing. REQUIRES: `delimiter` is not empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view delimiter);

/// What stands before and behind the first colon, both stripped; absent where there is none.
struct Entry {
  std::string_view key;
  std::string_view value;
};
[[nodiscard]] std::optional<Entry> entry_of(std::string_view line);

}  // namespace rest_fcgi::embedded
