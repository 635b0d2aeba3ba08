// SPDX-License-Identifier: MIT
#include "auth/token_record.h"

#include <chrono>
#include <optional>
#include <utility>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::auth {
namespace {

double to_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Absent where it is no number of seconds that a WallTime can hold.
std::optional<WallTime> read_time(std::optional<JsonValue> value) {
  constexpr double kLatest = 1e11;
  const std::optional<double> seconds = value ? value->number() : std::nullopt;
  if (!seconds || !(*seconds >= 0 && *seconds <= kLatest)) return std::nullopt;
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(*seconds)));
}

std::optional<std::string> read_name(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::string) || value->text().empty()) return std::nullopt;
  return std::string(value->text());
}

std::optional<std::vector<std::string>> read_names(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::array)) return std::nullopt;
  std::vector<std::string> names;
  for (const JsonValue element : value->elements()) {
    auto name = read_name(element);
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

Error malformed(std::string what) {
  return {ErrorKind::malformed, std::move(what)};
}

}  // namespace

std::string to_json(const TokenRecord& record) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("start").number(to_seconds(record.start));
  writer.key("expire").number(to_seconds(record.expire));
  writer.key("name").string(record.name);
  writer.key("eauth").string(record.eauth);
  writer.key("groups").begin_array();
  for (const std::string& group : record.groups) writer.string(group);
  writer.end_array().end_object();
  return text;
}

Result<TokenRecord> read_token_record(std::string_view json) {
  JsonDocument document;
  if (auto parsed = document.parse(json); !parsed) return std::move(parsed).error();
  const JsonValue root = document.root();
  auto name = read_name(root.find("name"));
  auto eauth = read_name(root.find("eauth"));
  auto groups = read_names(root.find("groups"));
  const auto start = read_time(root.find("start"));
  const auto expire = read_time(root.find("expire"));
  if (!name || !eauth || !groups || !start || !expire)
    return malformed("a token's data is missing or of a wrong type");
  if (*expire < *start) return malformed("the token expires before it starts");
  return TokenRecord{*std::move(name), *std::move(eauth), *std::move(groups), *start, *expire};
}

}  // namespace rest_fcgi::auth
