// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "master/embedded/json_text.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/traverse.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace pillar_module {
namespace {

JsonValue pillar_of(const Call& call) {
  return call.context.minion.pillar.root();
}

Raised no_such_key(const JsonValue& key) {
  return {Raised::Kind::exception, "KeyError", format("'Pillar key not found: {}'", key.python_str())};
}

/// Default and value as one, where both are maps or both lists; absent where they do not fit.
std::optional<Reply> merged(const JsonValue& base, const std::optional<JsonValue>& value, bool merge_lists) {
  if (!value || value->kind() != base.kind()) return std::nullopt;
  if (base.is(JsonValue::Kind::object)) {
    return written([&](JsonWriter& writer) { write_merged(writer, base, *value, merge_lists); });
  }
  if (base.is(JsonValue::Kind::array)) {
    return written([&](JsonWriter& writer) { write_joined(writer, base, *value); });
  }
  return std::nullopt;
}

Reply get(const Call& call) {
  const JsonValue& default_value = call.arguments[1];
  Traversed found = traverse(pillar_of(call), call.arguments[0], call.arguments[4]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& value = std::get<std::optional<JsonValue>>(found);
  if (python_bool(call.arguments[2])) {
    if (auto reply = merged(default_value, value, python_bool(call.arguments[3]))) return *std::move(reply);
  }
  return Returned{value.value_or(default_value).json()};
}

/// The named entries, or the exception that a name leads to.
Reply item(const Call& call) {
  const std::optional<JsonValue> delimiter = keyword(call, "delimiter");
  std::set<std::string> done;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonValue& key : call.varargs) {
    Traversed found = traverse(pillar_of(call), key, delimiter);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    const std::string name = key.is(JsonValue::Kind::string) ? std::string(key.text()) : key.json().text();
    if (!done.insert(name).second) continue;
    auto value = std::get<std::optional<JsonValue>>(found);
    if (!value) value = keyword(call, "default");
    writer.key(name);
    if (value) {
      value->write(writer);
    } else {
      writer.string("");
    }
    if (text.size() > kMaxRepeated) {
      return invocation_error("The default is too long for so many keys");
    }
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

/// The pillar, with what `pillar=` lays over it.
Reply items(const Call& call) {
  if (!call.varargs.empty()) return item(call);
  const std::optional<JsonValue> over = keyword(call, "pillar");
  if (!over || !over->is(JsonValue::Kind::object)) return Returned{pillar_of(call).json()};
  return written([&](JsonWriter& writer) { write_merged(writer, pillar_of(call), *over, false); });
}

void write_keys(JsonWriter& writer, const JsonValue& object) {
  writer.begin_array();
  for (const JsonMember member : object.members()) writer.string(member.key);
  writer.end_array();
}

Reply ls(const Call& call) {
  Reply reply = items(call);
  const auto* returned = std::get_if<Returned>(&reply);
  if (returned == nullptr) return reply;
  JsonDocument document;
  (void)document.parse(returned->value.text(), JsonLimits::none());  // written just now
  return written([&](JsonWriter& writer) { write_keys(writer, document.root()); });
}

Reply raw(const Call& call) {
  const JsonValue& key = call.arguments[0];
  if (!python_bool(key)) return Returned{pillar_of(call).json()};
  if (key.is(JsonValue::Kind::array) || key.is(JsonValue::Kind::object)) {
    return Raised::type_error(format("unhashable type: '{}'", key.type_name()));
  }
  const auto value = pillar_of(call).find(key.text());
  if (!value || !key.is(JsonValue::Kind::string)) return Returned{Json::empty_object()};
  return Returned{value->json()};
}

Reply keys(const Call& call) {
  const JsonValue& key = call.arguments[0];
  Traversed found = traverse(pillar_of(call), key, call.arguments[1]);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& value = std::get<std::optional<JsonValue>>(found);
  if (!value) return no_such_key(key);
  if (!value->is(JsonValue::Kind::object)) {
    return Raised::value_error(format("Pillar value in key {} is not a dict", key.python_str()));
  }
  return written([&](JsonWriter& writer) { write_keys(writer, *value); });
}

constexpr std::array kGetParameters = {Parameter{"key"},
                                       Parameter{"default", R"("")"},
                                       Parameter{"merge", "false"},
                                       Parameter{"merge_nested_lists", "null"},
                                       Parameter{"delimiter", R"(":")"},
                                       Parameter{"pillarenv", "null"},
                                       Parameter{"saltenv", "null"}};

constexpr std::string_view kGetSummary =
    "Return a value of the pillar, or ``default`` where there is none. ``pkg:apache`` is the member\n"
    "``apache`` of ``pkg``; ``delimiter`` may stand for the colon. With ``merge``, a map or list is laid "
    "over\n"
    "``default``.";

constexpr Function items_like(std::string_view name, std::string_view summary, Reply (*run)(const Call&),
                              std::string_view example) {
  return {.name = name,
          .takes_varargs = true,
          .takes_keywords = true,
          .summary = summary,
          .example = example,
          .run = run};
}

constexpr std::array kFunctions = {
    items_like("pillar.data", "The same as ``pillar.items``.", items, "pillar.data"),
    Function{.name = "pillar.fetch",
             .python_name = "get",
             .long_parameters = kGetParameters,
             .summary = kGetSummary,
             .example = "pillar.fetch pkg:apache",
             .run = get},
    Function{.name = "pillar.get",
             .long_parameters = kGetParameters,
             .summary = kGetSummary,
             .example = "pillar.get pkg:apache\npillar.get 'abc::def|ghi' delimiter='|'",
             .run = get},
    items_like("pillar.item",
               "Return the named values of the pillar, empty where there are none, or ``default``.", item,
               "pillar.item foo\npillar.item foo:bar baz"),
    items_like("pillar.items", "Return the whole pillar, or the named values.", items, "pillar.items"),
    Function{.name = "pillar.keys",
             .parameters = {{{"key"}, {"delimiter", R"(":")"}}},
             .summary = "Return the keys of a map in the pillar.",
             .example = "pillar.keys web:sites",
             .run = keys},
    Function{.name = "pillar.ls",
             .takes_varargs = true,
             .summary = "Return the keys of the pillar.",
             .example = "pillar.ls",
             .run = ls},
    Function{.name = "pillar.raw",
             .parameters = {{{"key", "null"}}},
             .summary = "Return the whole pillar, or what stands under one of its keys.",
             .example = "pillar.raw\npillar.raw key=roles",
             .run = raw},
};

}  // namespace
}  // namespace pillar_module

std::span<const Function> pillar_functions() {
  return pillar_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
