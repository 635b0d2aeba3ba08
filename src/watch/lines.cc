// SPDX-License-Identifier: MIT
#include <ctime>
#include <optional>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/watch/watch.h"

namespace rest_fcgi::watch {
namespace {

constexpr std::string_view kFields[] = {"id", "fun", "tgt", "user", "success", "retcode", "act", "result"};

/// Size limits in bytes for one shown field, and for the whole data of an event. A line shows the whole data
/// only if the data has none of `kFields`.
constexpr std::size_t kMostOfValue = 64;
constexpr std::size_t kMostOfData = 120;

char32_t first_character(std::string_view text, std::size_t size) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (size == 1) return byte(0);
  char32_t character = byte(0) & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) character = character << 6U | (byte(i) & 0x3FU);
  return character;
}

/// A terminal acts on a control character, or on a change of the text's direction, and does not show it.
bool is_control(char32_t character) {
  const auto is_in = [character](char32_t first, char32_t last) {
    return character >= first && character <= last;
  };
  return character < 0x20 || is_in(0x7F, 0x9F) || is_in(0x200E, 0x200F) || is_in(0x2028, 0x202E) ||
         is_in(0x2066, 0x2069);
}

/// Returns a string without blanks unchanged, and any other value as JSON. Cuts a long result.
std::string word_of(const JsonValue& value) {
  const std::string_view text = value.is(JsonValue::Kind::string) ? value.text() : std::string_view();
  const bool is_plain = !text.empty() && text.find_first_of(" \t\n\r\"") == std::string_view::npos;
  return escaped(excerpt(is_plain ? std::string(text) : value.json().text(), kMostOfValue));
}

/// Returns the local time as `HH:MM:SS`. `stamp` is in UTC, such as `2026-11-26T12:13:14.123456`.
std::string time_of(const std::string& stamp) {
  std::tm time{};
  if (::strptime(stamp.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return "--:--:--";
  const std::time_t seconds = ::timegm(&time);
  ::localtime_r(&seconds, &time);
  return format("{:02}:{:02}:{:02}", time.tm_hour, time.tm_min, time.tm_sec);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    const char32_t character = size == 0 ? 0xFFFD : first_character(text, size);
    if (is_control(character) || size == 0) {
      shown += format("\\u{:04x}", static_cast<unsigned>(character));
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return shown;
}

Result<void> DataReader::read(std::string_view bytes, const std::function<void(std::string_view)>& take) {
  static constexpr std::string_view kField = "data:";
  line_ += bytes;
  std::string_view rest = line_;
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(kField)) take(trimmed(line.substr(kField.size())));
  }
  line_.erase(0, line_.size() - rest.size());
  if (line_.size() <= kMaxLine) return {};
  return Error{ErrorKind::internal,
               format("found an event of more than {} bytes, expected a smaller one", kMaxLine)};
}

std::string line_of(std::string_view event, const Options& options) {
  JsonDocument document;
  if (!document.parse(event, JsonLimits::none())) return "";
  const std::string tag(document.root().find("tag").value_or(JsonValue()).text());
  if (!glob_match(options.tag, tag)) return "";
  if (options.as_json) return escaped(event) + "\n";
  const JsonValue data = document.root().find("data").value_or(JsonValue());
  std::string line =
      format("{} {}", time_of(std::string(data.find("_stamp").value_or(JsonValue()).text())), escaped(tag));
  bool has_field = false;
  for (const std::string_view field : kFields) {
    const auto value = data.find(field);
    if (!value) continue;
    line += format(" {}={}", field, word_of(*value));
    has_field = true;
  }
  if (!has_field) line += " " + escaped(excerpt(data.json().text(), kMostOfData));
  return line + "\n";
}

}  // namespace rest_fcgi::watch
