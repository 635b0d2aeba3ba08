// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::yaml {
namespace {

constexpr char kDelete = '\x7F';  // no YAML text may hold it as it is

/// Would a reader of YAML 1.1, Salt's or another one, take the text for a number, a date, a boolean, null or
/// a merge, if it stood there without quotes? Some are quoted here that need not be.
bool needs_quotes(std::string_view text) {
  constexpr std::string_view kSuspicious = "0123456789+-.=<~";
  return text.empty() || kSuspicious.find(text.front()) != std::string_view::npos ||
         kind_of_plain(text) != Kind::string;
}

bool has_line_break(std::string_view text) {
  return text.find_first_of("\n\r") != std::string_view::npos;
}

/// YAML 1.1 wants a point in every real: `1e+16` would be text.
std::string real_of(std::string_view digits) {
  std::string text(digits);
  if (const std::size_t exponent = text.find_first_of("eE");
      exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

class Writer {
 public:
  [[nodiscard]] std::string text() const { return std::string(emitter_.c_str(), emitter_.size()) + '\n'; }

  void write(const JsonValue& value) {
    switch (value.kind()) {
      case JsonValue::Kind::null:
        emitter_ << YAML::LowerNull << YAML::Null;
        return;
      case JsonValue::Kind::boolean:
        return write_plain(value.boolean() ? "true" : "false");
      case JsonValue::Kind::integer:
        return write_plain(std::string(value.text()));
      case JsonValue::Kind::real:
        return write_plain(real_of(value.text()));
      case JsonValue::Kind::string:
        return write_string(value.text());
      case JsonValue::Kind::array:
        return write_array(value);
      case JsonValue::Kind::object:
        return write_object(value);
    }
  }

 private:
  void write_plain(const std::string& text) { emitter_ << text; }

  void write_string(std::string_view text) {
    if (text.find(kDelete) != std::string_view::npos) {
      emitter_ << YAML::EscapeNonAscii
               << YAML::DoubleQuoted;  // yaml-cpp escapes it with all that is beyond ASCII
    } else if (has_line_break(text)) {
      emitter_ << YAML::DoubleQuoted;
    } else if (needs_quotes(text)) {
      emitter_ << YAML::SingleQuoted;
    }
    emitter_ << std::string(text);
  }

  void write_array(const JsonValue& array) {
    if (array.size() == 0) emitter_ << YAML::Flow;
    emitter_ << YAML::BeginSeq;
    for (const JsonValue element : array.elements()) write(element);
    emitter_ << YAML::EndSeq;
  }

  void write_object(const JsonValue& object) {
    std::vector<JsonMember> members;
    for (const JsonMember& member : object.members()) members.push_back(member);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    if (members.empty()) emitter_ << YAML::Flow;
    emitter_ << YAML::BeginMap;
    for (const JsonMember& member : members) {
      emitter_ << YAML::Key;
      write_string(member.key);
      emitter_ << YAML::Value;
      write(member.value);
    }
    emitter_ << YAML::EndMap;
  }

  YAML::Emitter emitter_;
};

}  // namespace

std::string write(const JsonValue& value) {
  Writer writer;
  writer.write(value);
  return writer.text();
}

}  // namespace rest_fcgi::yaml
