// SPDX-License-Identifier: MIT
#include "etcd/fields.h"

#include <charconv>
#include <utility>

#include "etcd/base64.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {

Fields::Fields(JsonValue message, std::string& mistake) : message_(message), mistake_(mistake) {
  if (!message.is(JsonValue::Kind::object)) note("a message", "an object");
}

void Fields::note(std::string_view name, std::string_view expected) const {
  if (mistake_.empty()) mistake_ = format("{} is not {}", name, expected);
}

JsonValue Fields::find(std::string_view name, JsonValue::Kind kind) const {
  const JsonValue value = message_.find(name).value_or(JsonValue());
  if (value.is(kind) || value.is(JsonValue::Kind::null)) return value;
  constexpr std::string_view kKinds[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "a list",    "an object"};
  note(name, kKinds[static_cast<std::size_t>(kind)]);
  return {};
}

template <class Number>
Number Fields::integer(std::string_view name) const {
  const std::optional<JsonValue> value = message_.find(name);
  if (!value || value->is(JsonValue::Kind::null)) return 0;
  const std::string_view text = value->text();
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  note(name, "an integer of 64 bits");
  return 0;
}

std::int64_t Fields::int64(std::string_view name) const {
  return integer<std::int64_t>(name);
}

std::uint64_t Fields::uint64(std::string_view name) const {
  return integer<std::uint64_t>(name);
}

bool Fields::boolean(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::boolean);
  return value.is(JsonValue::Kind::boolean) && value.boolean();
}

std::string Fields::text(std::string_view name) const {
  return std::string(find(name, JsonValue::Kind::string).text());
}

std::string Fields::bytes(std::string_view name) const {
  return decoded(name, find(name, JsonValue::Kind::string));
}

std::string Fields::decoded(std::string_view name, JsonValue value) const {
  std::optional<std::string> bytes = from_base64(value.text());
  if (!bytes) note(name, "base64");
  return std::move(bytes).value_or(std::string());
}

std::vector<std::string> Fields::texts(std::string_view name) const {
  std::vector<std::string> list;
  for (const JsonValue element : find(name, JsonValue::Kind::array).elements()) {
    if (!element.is(JsonValue::Kind::string)) note(name, "a list of strings");
    list.emplace_back(element.text());
  }
  return list;
}

std::vector<std::string> Fields::list_of_bytes(std::string_view name) const {
  std::vector<std::string> list;
  for (const JsonValue element : find(name, JsonValue::Kind::array).elements()) {
    list.push_back(decoded(name, element));
  }
  return list;
}

std::optional<Fields> Fields::message(std::string_view name) const {
  const JsonValue value = find(name, JsonValue::Kind::object);
  if (value.is(JsonValue::Kind::null)) return std::nullopt;
  return Fields(value, mistake_);
}

std::optional<Fields> Fields::require(std::string_view name) const {
  std::optional<Fields> found = message(name);
  if (!found) note(name, "there");
  return found;
}

}  // namespace rest_fcgi::etcd
