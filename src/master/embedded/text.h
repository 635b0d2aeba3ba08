// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"

/// Reads and writes JSON values and small text files.
namespace rest_fcgi::embedded {

/// Writes the arguments of a call as two members of an open object: an array, and an object.
template <class Values, class Members>
void write_arguments(JsonWriter& writer, std::string_view args_key, const Values& args,
                     std::string_view kwargs_key, const Members& kwargs) {
  writer.key(args_key).begin_array();
  for (const JsonValue value : args) value.write(writer);
  writer.end_array().key(kwargs_key).begin_object();
  for (const auto& [key, value] : kwargs) value.write(writer.key(key));
  writer.end_object();
}

/// Returns the member of that name, or null.
[[nodiscard]] inline JsonValue member_of(const JsonValue& object, std::string_view key) {
  return object.find(key).value_or(JsonValue());
}

/// Steps down into a value, as salt.utils.data.traverse_dict_and_list does. In an object a step is a member's
/// name. In a list it is an index, counted from the end if it is negative, or the name of a member of the
/// first object in the list that has it.
[[nodiscard]] std::optional<JsonValue> step_into(const JsonValue& value, std::string_view step);

/// Merges two objects at all levels, as salt.utils.dictupdate.update does: `over` wins. Lists are joined if
/// `merge_lists`, else replaced.
void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists);

/// Writes the elements of `base`, then those of `over` that `base` does not have.
void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over);

/// Returns at most the first `limit` bytes of a file; absent if it cannot be read. Does not wait for the
/// writer of a pipe.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path, std::size_t limit = 4 << 20);

/// Returns the parts between delimiters, empty ones too. REQUIRES: `delimiter` is not empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view delimiter);

/// Splits names at commas, and strips them.
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view list);

/// Returns the lines that are not empty.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// Splits a line at its first colon, and strips both parts. Without a colon both are empty.
[[nodiscard]] std::pair<std::string_view, std::string_view> key_and_value(std::string_view line);

}  // namespace rest_fcgi::embedded
