// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/traverse.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace grains_module {
namespace {

/// A serial number without its last quarter, cut between two characters.
std::string sanitized_serial(std::string_view serial) {
  std::size_t kept = serial.size() * 3 / 4;
  while (kept > 0 && kept < serial.size() && (static_cast<unsigned char>(serial[kept]) & 0xC0U) == 0x80U)
    --kept;
  return std::string(serial.substr(0, kept)) + std::string(serial.size() - kept, 'X');
}

/// What stands in place of a grain that tells the host; absent for all other grains.
std::optional<std::string> sanitized(std::string_view grain, const JsonValue& value) {
  if (grain == "serialnumber") return sanitized_serial(value.text());
  if (grain == "domain") return "DOMAINNAME";
  if (grain == "fqdn" || grain == "id") return "MINION.DOMAINNAME";
  if (grain == "host" || grain == "localhost" || grain == "nodename") return "MINION";
  return std::nullopt;
}

void write_grain(JsonWriter& writer, std::string_view grain, const JsonValue& value, bool sanitize) {
  writer.key(grain);
  const std::optional<std::string> replacement = sanitize ? sanitized(grain, value) : std::nullopt;
  if (replacement) {
    writer.string(*replacement);
  } else {
    value.write(writer);
  }
}

Reply write_all(const JsonValue& grains, bool sanitize) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonMember grain : grains.members()) write_grain(writer, grain.key, grain.value, sanitize);
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

JsonValue grains_of(const Call& call) {
  return call.context.minion.grains.root();
}

Reply items(const Call& call) {
  return write_all(grains_of(call), salt_is_true(call.arguments[0]));
}

Reply get(const Call& call) {
  Traversed found = traverse(grains_of(call), call.arguments[0], call.arguments[2]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  return Returned{std::get<std::optional<JsonValue>>(found).value_or(call.arguments[1]).json()};
}

Reply has_value(const Call& call) {
  Traversed found = traverse(grains_of(call), call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  return Returned{Json::boolean(std::get<std::optional<JsonValue>>(found).has_value())};
}

Reply equals(const Call& call) {
  Traversed found = traverse(grains_of(call), call.arguments[0]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& value = std::get<std::optional<JsonValue>>(found);
  return Returned{Json::boolean(call.arguments[1].python_str() == (value ? value->python_str() : ""))};
}

/// A key of `item` as a key of an object: Python's `json.dumps` writes numbers and booleans as text there.
std::string object_key(const JsonValue& key) {
  return key.is(JsonValue::Kind::string) ? std::string(key.text()) : key.json().text();
}

Reply item(const Call& call) {
  const std::optional<JsonValue> delimiter = keyword(call, "delimiter");
  const bool sanitize = salt_is_true(keyword(call, "sanitize").value_or(JsonValue()));
  std::set<std::string> written;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonValue& key : call.varargs) {
    Traversed found = traverse(grains_of(call), key, delimiter);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    if (key.is(JsonValue::Kind::array) || key.is(JsonValue::Kind::object)) {
      return Raised::type_error(format("unhashable type: '{}'", key.type_name()));
    }
    const std::string name = object_key(key);
    if (!written.insert(name).second) continue;
    auto value = std::get<std::optional<JsonValue>>(found);
    if (!value) value = keyword(call, "default");
    if (value) {
      write_grain(writer, name, *value, sanitize);
    } else {
      writer.key(name).string("");
    }
    if (text.size() > kMaxRepeated) {
      return invocation_error("The default is too long for so many keys");
    }
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply ls(const Call& call) {
  std::vector<std::string_view> names;
  for (const JsonMember grain : grains_of(call).members()) names.push_back(grain.key);
  std::sort(names.begin(), names.end());
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const std::string_view name : names) writer.string(name);
  writer.end_array();
  return Returned{Json::trusted(std::move(text))};
}

constexpr std::string_view kGetSummary =
    "Return a grain, or ``default`` where there is none. ``pkg:apache`` is the member ``apache`` of the\n"
    "grain ``pkg``; ``delimiter`` may stand for the colon.";

constexpr std::array kFunctions = {
    Function{.name = "grains.equals",
             .parameters = {{{"key"}, {"value"}}},
             .summary = "Return whether a grain is this value, both as text.",
             .example = "grains.equals os Debian",
             .run = equals},
    Function{.name = "grains.fetch",
             .python_name = "get",
             .parameters = {{{"key"}, {"default", R"("")"}, {"delimiter", R"(":")"}, {"ordered", "true"}}},
             .summary = kGetSummary,
             .example = "grains.fetch pkg:apache",
             .run = get},
    Function{.name = "grains.get",
             .parameters = {{{"key"}, {"default", R"("")"}, {"delimiter", R"(":")"}, {"ordered", "true"}}},
             .summary = kGetSummary,
             .example = "grains.get pkg:apache\ngrains.get 'abc::def|ghi' delimiter='|'",
             .run = get},
    Function{.name = "grains.has_value",
             .parameters = {{{"key"}}},
             .summary = "Return whether there is such a grain.",
             .example = "grains.has_value pkg:apache",
             .run = has_value},
    Function{.name = "grains.item",
             .takes_varargs = true,
             .takes_keywords = true,
             .summary = "Return the named grains. With ``sanitize``, what tells the host is left out.",
             .example = "grains.item os osrelease\ngrains.item host sanitize=True",
             .out = "nested",
             .run = item},
    Function{.name = "grains.items",
             .parameters = {{{"sanitize", "false"}}},
             .summary = "Return all grains. With ``sanitize``, what tells the host is left out.",
             .example = "grains.items\ngrains.items sanitize=True",
             .out = "nested",
             .run = items},
    Function{
        .name = "grains.ls", .summary = "Return the names of all grains.", .example = "grains.ls", .run = ls},
};

}  // namespace
}  // namespace grains_module

std::span<const Function> grains_functions() {
  return grains_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
