// SPDX-License-Identifier: MIT
#include <algorithm>
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

/// The tag of the event that says that events are lost. It is shown with each choice of tags.
constexpr std::string_view kLost = "rest_fcgi/events/lost";

/// Size limits in bytes for one shown field, and for the whole data of an event. A line shows the whole data
/// only if the data has none of `kFields`.
constexpr std::size_t kMostOfValue = 64;
constexpr std::size_t kMostOfData = 120;
constexpr std::size_t kMostOfFailure = 240;

// Sequences of SGR (ECMA-48, 8.3.117), which every colour terminal knows.
constexpr const char* kPlain = "\033[0m";
constexpr const char* kBold = "\033[1m";
constexpr const char* kFaint = "\033[2m";
constexpr const char* kRed = "\033[1;31m";
constexpr const char* kGreen = "\033[32m";

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

/// Returns whether `is_bad` holds for a value, or for one member of a map. A return of a list of functions
/// has a map from each function to its value.
bool any_of(const std::optional<JsonValue>& value, bool (*is_bad)(const JsonValue&)) {
  if (!value) return false;
  if (!value->is(JsonValue::Kind::object)) return is_bad(*value);
  for (const JsonMember member : value->members()) {
    if (is_bad(member.value)) return true;
  }
  return false;
}

/// Returns whether the event is a return that failed.
bool has_failed(const JsonValue& data) {
  const auto is_false = [](const JsonValue& value) {
    return value.is(JsonValue::Kind::boolean) && !value.boolean();
  };
  return any_of(data.find("success"), is_false) || any_of(data.find("retcode"), [](const JsonValue& value) {
           return value.integer().value_or(0) != 0;
         });
}

/// Returns the comment of the first state that failed. The key of a state in a return is
/// `STATE_|-ID_|-NAME_|-FUNCTION`.
std::optional<std::string> failed_state(const JsonValue& ret) {
  constexpr std::string_view kBetween = "_|-";
  if (!ret.is(JsonValue::Kind::object)) return std::nullopt;
  for (const JsonMember member : ret.members()) {
    const auto result = member.value.find("result");
    const bool failed = result && result->is(JsonValue::Kind::boolean) && !result->boolean();
    const std::size_t id = member.key.find(kBetween);
    if (!failed || id == std::string_view::npos) continue;
    const std::string_view from_id = member.key.substr(id + kBetween.size());
    const auto comment = member.value.find("comment");
    return format("{}: {}", from_id.substr(0, from_id.find(kBetween)), comment ? comment->text() : "");
  }
  return std::nullopt;
}

/// Returns the text of a failure: the last line of a text, the comment of a failed state, or else the whole
/// value. The last line of Python's traceback names the exception.
std::string text_of_failure(const JsonValue& data) {
  const auto ret = data.find("return");
  if (!ret) return "";
  std::string text = failed_state(*ret).value_or(std::string(ret->text()));
  if (text.empty()) text = ret->json().text();
  const std::string_view whole = stripped(text);
  const std::string_view last = whole.substr(whole.rfind('\n') + 1);
  return format(": {}", escaped(excerpt(last, kMostOfFailure)));
}

/// Returns the fields of a line, each after a blank.
std::string fields_of(const JsonValue& data) {
  std::string fields;
  for (const std::string_view field : kFields) {
    if (const auto value = data.find(field)) fields += format(" {}={}", field, word_of(*value));
  }
  return fields.empty() ? " " + escaped(excerpt(data.json().text(), kMostOfData)) : fields;
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

Result<void> FieldReader::read(std::string_view bytes, const Take& take) {
  line_ += bytes;
  std::string_view rest = line_;
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) take(line.substr(0, colon), trimmed(line.substr(colon + 1)));
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
  const auto fits = [&tag](const std::string& glob) { return glob_match(glob, tag); };
  const bool is_wanted = options.tags.empty() || tag == kLost;
  if (!is_wanted && std::none_of(options.tags.begin(), options.tags.end(), fits)) return "";
  if (options.as_json) return escaped(event) + "\n";
  const JsonValue data = document.root().find("data").value_or(JsonValue());
  const bool failed = has_failed(data);
  const std::string fields = fields_of(data) + (failed ? text_of_failure(data) : "");
  const std::string time = time_of(std::string(data.find("_stamp").value_or(JsonValue()).text()));
  const std::string shown_tag = escaped(tag);
  if (!options.in_colour) return format("{} {}{}\n", time, shown_tag, fields);
  const char* const colour = failed ? kRed : data.find("return") ? kGreen : kBold;
  return format("{}{}{} {}{}{}{}\n", kFaint, time, kPlain, colour, shown_tag, kPlain, fields);
}

}  // namespace rest_fcgi::watch
