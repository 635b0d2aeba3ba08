// SPDX-License-Identifier: MIT
#include "lowstate/chunk_reader.h"

#include <cmath>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/yaml/yaml.h"

namespace rest_fcgi::lowstate {
namespace {

constexpr double kMaxSeconds = 86400;

}  // namespace

std::string shown(JsonValue value) {
  return value.is(JsonValue::Kind::string) || value.number() ? quoted_excerpt(value.text())
                                                             : std::string(value.type_name());
}

std::optional<double> parse_finite_number(std::string_view text) noexcept {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> number_of(JsonValue value) noexcept {
  return value.is(JsonValue::Kind::string) ? parse_finite_number(stripped(value.text())) : value.number();
}

std::optional<JsonValue> ChunkReader::find(std::string_view key) const noexcept {
  return find_nonempty(chunk_, key);
}

std::optional<JsonValue> ChunkReader::find_nonblank(std::string_view key) const noexcept {
  const auto value = find(key);
  if (value && value->is(JsonValue::Kind::string) && stripped(value->text()).empty()) return std::nullopt;
  return value;
}

std::optional<JsonValue> ChunkReader::find_nonnull(std::string_view key) const noexcept {
  const auto value = chunk_.find(key);
  if (!value || value->is(JsonValue::Kind::null)) return std::nullopt;
  return value;
}

std::string_view ChunkReader::text(std::string_view key) {
  const auto value = find(key);
  if (!value) return {};
  if (!value->is(JsonValue::Kind::string)) refuse(key, "a string", *value);
  return value->is(JsonValue::Kind::string) ? value->text() : std::string_view();
}

bool ChunkReader::flag(std::string_view key) {
  const auto value = find_nonblank(key);
  if (!value) return false;
  if (value->is(JsonValue::Kind::boolean)) return value->boolean();
  const std::string_view text = value->is(JsonValue::Kind::string) ? stripped(value->text()) : "";
  if (yaml::kind_of_plain(text) == yaml::Kind::boolean) return yaml::to_boolean(text);
  const auto number = number_of(*value);
  if (number && (*number == 0 || *number == 1)) return *number == 1;
  refuse(key, "true or false", *value);
  return false;
}

std::optional<std::chrono::milliseconds> ChunkReader::duration(std::string_view key) {
  const auto value = find_nonblank(key);
  if (!value) return std::nullopt;
  const auto seconds = number_of(*value);
  if (!seconds || *seconds < 0 || *seconds > kMaxSeconds) {
    report(format("'{}' must be a number of seconds from 0 to {}, or a string with such a number; found {}.",
                  key, kMaxSeconds, shown(*value)));
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

std::optional<JsonValue> ChunkReader::object(std::string_view key) {
  const auto value = find_nonblank(key);
  if (!value || value->is(JsonValue::Kind::object)) return value;
  const std::string_view text = value->is(JsonValue::Kind::string) ? stripped(value->text()) : "";
  if (text == "{}" || text == "[]") return std::nullopt;
  refuse(key, "an object", *value);
  return std::nullopt;
}

void ChunkReader::report(std::string_view sentence) {
  if (!error_) error_ = Error{ErrorKind::invocation, format("Lowstate chunk {}: {}", index_, sentence)};
}

void ChunkReader::refuse(std::string_view key, std::string_view accepted, JsonValue found) {
  report(format("'{}' must be {}; found {}.", key, accepted, found.type_name()));
}

}  // namespace rest_fcgi::lowstate
