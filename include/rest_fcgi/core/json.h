// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rest_fcgi {

/// Text that is exactly one valid JSON value in UTF-8, spaced as Python's `json.dumps` spaces it (`", "` and
/// `": "`). What an engine returns is one of these: written once, then only moved and joined. Value type.
class Json {
 public:
  Json() : text_("null") {}

  static Json boolean(bool value) { return Json(value ? "true" : "false"); }
  static Json integer(std::int64_t value) { return Json(std::to_string(value)); }
  static Json string(std::string_view value);
  static Json empty_object() { return Json("{}"); }

  /// REQUIRES: `text` is one valid JSON value. For text that a `JsonWriter` or a `JsonValue` wrote.
  static Json trusted(std::string text) { return Json(std::move(text)); }

  [[nodiscard]] const std::string& text() const& noexcept { return text_; }
  [[nodiscard]] std::string text() && noexcept { return std::move(text_); }

  bool operator==(const Json&) const = default;

 private:
  explicit Json(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Appends JSON to a text, with the commas and spaces that belong between values. It never fails: bytes that
/// are no UTF-8 become U+FFFD, as Salt shows a command's output; NaN and infinities, which JSON lacks, become
/// null. Borrows `out`, which must outlive it and to which nobody else appends meanwhile. Not synchronized.
///
/// REQUIRES of the caller: in an object, each value follows its `key`; what is begun is ended.
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

  /// REQUIRES: `text` is one valid JSON value.
  JsonWriter& raw(std::string_view text);

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool behind_value_ = false;  ///< in the array or object that is open
};

/// What `write` writes with the JsonWriter that it is given. REQUIRES: one whole value.
template <class Write>
[[nodiscard]] Json written_json(const Write& write) {
  std::string text;
  JsonWriter writer(text);
  write(writer);
  return Json::trusted(std::move(text));
}

/// An object of the members that `write_members` writes.
template <class WriteMembers>
[[nodiscard]] Json written_object(const WriteMembers& write_members) {
  return written_json([&write_members](JsonWriter& writer) {
    write_members(writer.begin_object());
    writer.end_object();
  });
}

/// An array of the elements that `write_elements` writes.
template <class WriteElements>
[[nodiscard]] Json written_array(const WriteElements& write_elements) {
  return written_json([&write_elements](JsonWriter& writer) {
    write_elements(writer.begin_array());
    writer.end_array();
  });
}

/// An array of strings.
template <class Texts>
void write_strings(JsonWriter& writer, const Texts& texts) {
  writer.begin_array();
  for (const auto& text : texts) writer.string(text);
  writer.end_array();
}

/// `value` as Python's `repr(float)` writes it: the shortest digits that read back, `1.0`, `1e+16`, `1e-07`,
/// `-0.0`. REQUIRES: finite.
[[nodiscard]] std::string python_float(double value);

}  // namespace rest_fcgi
