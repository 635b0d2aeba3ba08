// SPDX-License-Identifier: MIT
#include <yaml.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

/// Returns whether PyYAML reads the text as a string even if it has no quotes.
bool resolves_to_text(std::string_view text) {
  // A number of more than 1000 digits gets quotes without the expensive call of `kind_of_plain`.
  constexpr std::size_t kLong = 1000;
  const bool is_long = text.size() > kLong;
  if (is_long && text.find_first_not_of("0123456789_.", 1) == std::string_view::npos) return false;
  if (text == "=" || text == "<<" || kind_of_plain(text) != Kind::string) return false;
  const bool is_digit_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  static const Regex timestamp = *Regex::compile(
      "[0-9]{4}-[0-9]{2}-[0-9]{2}"
      "|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \\t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\\.[0-9]*)?"
      "(?:[ \\t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?");
  return !is_digit_first || is_long || !timestamp.match_all(text);
}

/// YAML 1.1 reads a number such as `1e+16` as text, so the number gets a decimal point.
std::string real_of(std::string_view digits) {
  std::string text(digits);
  if (const std::size_t exponent = text.find_first_of("eE");
      exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

/// Writes one JSON value with libyaml's emitter, which is that of PyYAML's CSafeDumper.
class Writer {
 public:
  Writer() {
    if (yaml_emitter_initialize(&emitter_) == 0) throw std::bad_alloc();
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_output(
        &emitter_,
        [](void* out, unsigned char* bytes, std::size_t size) {
          static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
          return 1;
        },
        &out_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { yaml_emitter_delete(&emitter_); }

  [[nodiscard]] std::string write_document(JsonValue root) {
    emit(yaml_stream_start_event_initialize(&event_, YAML_UTF8_ENCODING));
    emit(yaml_document_start_event_initialize(&event_, nullptr, nullptr, nullptr, 1));
    write(root);
    emit(yaml_document_end_event_initialize(&event_, 1));
    emit(yaml_stream_end_event_initialize(&event_));
    return std::move(out_);
  }

 private:
  void write(JsonValue value) {
    switch (value.kind()) {
      case JsonValue::Kind::null:
        return write_scalar("null", true, false);
      case JsonValue::Kind::boolean:
        return write_scalar(value.boolean() ? "true" : "false", true, false);
      case JsonValue::Kind::integer:
        return write_scalar(value.text(), true, false);
      case JsonValue::Kind::real:
        return write_scalar(real_of(value.text()), true, false);
      case JsonValue::Kind::string:
        return write_scalar(value.text(), resolves_to_text(value.text()), true);
      case JsonValue::Kind::array:
        return write_array(value);
      case JsonValue::Kind::object:
        return write_object(value);
    }
  }

  /// The emitter chooses a style in which the text is read as this type. The two flags say whether that holds
  /// without quotes, and with quotes.
  void write_scalar(std::string_view text, bool is_plain_right, bool is_quoted_right) {
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    emit(yaml_scalar_event_initialize(&event_, nullptr, nullptr, bytes, static_cast<int>(text.size()),
                                      is_plain_right ? 1 : 0, is_quoted_right ? 1 : 0,
                                      YAML_PLAIN_SCALAR_STYLE));
  }

  void write_array(JsonValue array) {
    emit(yaml_sequence_start_event_initialize(&event_, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE));
    for (const JsonValue element : array.elements()) write(element);
    emit(yaml_sequence_end_event_initialize(&event_));
  }

  void write_object(JsonValue object) {
    std::vector<JsonMember> members;
    for (const JsonMember& member : object.members()) members.push_back(member);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    emit(yaml_mapping_start_event_initialize(&event_, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE));
    for (const JsonMember& member : members) {
      write_scalar(member.key, resolves_to_text(member.key), true);
      write(member.value);
    }
    emit(yaml_mapping_end_event_initialize(&event_));
  }

  /// `is_made` is the result of the function that makes `event_`. Such a function, and the emitter, fail only
  /// if there is no memory, because a JSON value is valid UTF-8 and its events are in order.
  void emit(int is_made) {
    if (is_made == 0 || yaml_emitter_emit(&emitter_, &event_) == 0) throw std::bad_alloc();
  }

  std::string out_;
  yaml_emitter_t emitter_;
  yaml_event_t event_;
};

}  // namespace

std::string write(const JsonValue& value) {
  return Writer().write_document(value);
}

}  // namespace rest_fcgi::yaml
