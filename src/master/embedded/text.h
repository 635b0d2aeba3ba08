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

namespace rest_fcgi::embedded {

/// Writes the arguments of a call as two members of a JSON object that the caller has begun. The first member
/// is an array of positional arguments, and the second member is an object of keyword arguments.
template <class Values, class Members>
void write_arguments(JsonWriter& writer, std::string_view args_key, const Values& args,
                     std::string_view kwargs_key, const Members& kwargs) {
  writer.key(args_key).begin_array();
  for (const JsonValue value : args) value.write(writer);
  writer.end_array().key(kwargs_key).begin_object();
  for (const auto& [key, value] : kwargs) value.write(writer.key(key));
  writer.end_object();
}

[[nodiscard]] inline JsonValue member_of(const JsonValue& object, std::string_view key) {
  return object.find(key).value_or(JsonValue());
}

/// Returns the value one step below `value`, as salt.utils.data.traverse_dict_and_list does. In an object,
/// the step is the name of a member. In a list, the step is an index, or a member of the first object that
/// has this member. A negative index counts from the end.
[[nodiscard]] std::optional<JsonValue> step_into(const JsonValue& value, std::string_view step);

/// Merges two objects at all levels, as salt.utils.dictupdate.update does. Values of `over` replace values of
/// `base`. Lists are joined only if `merge_lists` is true.
void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists);

/// Writes an array with the elements of `base`, and after them the elements of `over` that are not in `base`.
void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over);

/// Returns the first `limit` bytes of a file, or std::nullopt if the file cannot be read. Does not block on a
/// named pipe.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path, std::size_t limit = 4 << 20);

/// Returns the names in a comma-separated list, without surrounding white space.
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view list);

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// Splits a line at its first colon, and strips white space from the texts before and after the colon.
/// Without a colon, returns two empty texts.
[[nodiscard]] std::pair<std::string_view, std::string_view> key_and_value(std::string_view line);

}  // namespace rest_fcgi::embedded
