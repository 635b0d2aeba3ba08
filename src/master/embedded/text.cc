// SPDX-License-Identifier: MIT
#include "master/embedded/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {

std::optional<JsonValue> step_into(const JsonValue& value, std::string_view step) {
  if (!value.is(JsonValue::Kind::array)) return value.find(step);
  const auto index = parse_number<std::int64_t>(stripped(step));
  if (!index) {
    for (const JsonValue element : value.elements()) {
      if (const auto member = element.find(step)) return member;
    }
    return std::nullopt;
  }
  std::int64_t left = *index < 0 ? *index + static_cast<std::int64_t>(value.size()) : *index;
  for (const JsonValue element : value.elements()) {
    if (left-- == 0) return element;
  }
  return std::nullopt;
}

void write_merged(JsonWriter& writer, const JsonValue& base, const JsonValue& over, bool merge_lists) {
  writer.begin_object();
  for (const auto& [key, value] : base.members()) {
    const std::optional<JsonValue> replacement = over.find(key);
    const bool are_alike = replacement && replacement->kind() == value.kind();
    writer.key(key);
    if (!replacement) {
      value.write(writer);
    } else if (are_alike && value.is(JsonValue::Kind::object)) {
      write_merged(writer, value, *replacement, merge_lists);
    } else if (merge_lists && are_alike && value.is(JsonValue::Kind::array)) {
      write_joined(writer, value, *replacement);
    } else {
      replacement->write(writer);
    }
  }
  for (const auto& [key, value] : over.members()) {
    if (base.find(key)) continue;
    writer.key(key);
    value.write(writer);
  }
  writer.end_object();
}

void write_joined(JsonWriter& writer, const JsonValue& base, const JsonValue& over) {
  std::set<std::string> present;
  writer.begin_array();
  for (const JsonValue value : base.elements()) {
    present.insert(value.json().text());
    value.write(writer);
  }
  for (const JsonValue value : over.elements()) {
    if (!present.contains(value.json().text())) value.write(writer);
  }
  writer.end_array();
}

std::optional<std::string> read_text(const std::string& path, std::size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return std::nullopt;
  constexpr std::size_t kPiece = 16384;
  std::string text;
  while (text.size() < limit) {
    const std::size_t before = text.size();
    text.resize(std::min(before + kPiece, limit));
    const ssize_t got = ::read(file.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, "\n");
  std::erase(lines, "");
  return lines;
}

std::vector<std::string_view> split_names(std::string_view list) {
  std::vector<std::string_view> names = split(list, ",");
  for (std::string_view& name : names) name = stripped(name);
  std::erase(names, "");
  return names;
}

std::pair<std::string_view, std::string_view> key_and_value(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  return {stripped(line.substr(0, colon)), stripped(line.substr(colon + 1))};
}

}  // namespace rest_fcgi::embedded
