// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rest_fcgi {

/// Text of exactly one valid JSON value in UTF-8, with Python's spacing (`", "` and `": "`).
class Json {
 public:
  Json() : text_("null") {}

  static Json boolean(bool value) { return Json(value ? "true" : "false"); }
  static Json integer(std::int64_t value) { return Json(std::to_string(value)); }
  static Json string(std::string_view value);
  static Json empty_object() { return Json("{}"); }

  /// Returns `text` as Json without a check. REQUIRES: `text` is one valid JSON value.
  static Json trusted(std::string text) { return Json(std::move(text)); }

  [[nodiscard]] const std::string& text() const& noexcept { return text_; }
  [[nodiscard]] std::string text() && noexcept { return std::move(text_); }

  bool operator==(const Json&) const = default;

 private:
  explicit Json(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Appends JSON to the text `out`, which the caller owns. Bytes that are not UTF-8 become U+FFFD, as in
/// Salt's output of commands. NaN and infinities become null. A JsonWriter is not thread-safe. REQUIRES: the
/// caller writes a `key` before each value of an object.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& json(const Json& value) { return raw(value.text()); }

  JsonWriter& raw(std::string_view text);

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool behind_value_ = false;  ///< Whether the next value needs a comma.
};

/// Returns the value that `write` writes with a JsonWriter. REQUIRES: `write` writes exactly one value.
template <class Write>
[[nodiscard]] Json written_json(const Write& write) {
  std::string text;
  JsonWriter writer(text);
  write(writer);
  return Json::trusted(std::move(text));
}

template <class WriteMembers>
[[nodiscard]] Json written_object(const WriteMembers& write_members) {
  return written_json([&write_members](JsonWriter& writer) {
    write_members(writer.begin_object());
    writer.end_object();
  });
}

template <class WriteElements>
[[nodiscard]] Json written_array(const WriteElements& write_elements) {
  return written_json([&write_elements](JsonWriter& writer) {
    write_elements(writer.begin_array());
    writer.end_array();
  });
}

template <class Texts>
void write_strings(JsonWriter& writer, const Texts& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

/// Returns `value` as Python's `repr(float)` writes the number, such as `1.0` or `1e+16`. REQUIRES: `value`
/// is finite.
[[nodiscard]] std::string python_float(double value);

}  // namespace rest_fcgi
