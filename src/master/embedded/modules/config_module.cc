// SPDX-License-Identifier: MIT
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/json_text.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/traverse.h"
#include "master/embedded/python/python.h"

namespace rest_fcgi::embedded {
namespace config_module {
namespace {

/// Where `config` looks for a key, first to last: the minion's options, its grains, its pillar, and what the
/// pillar says of the master.
struct Stores {
  explicit Stores(const Call& call)
      : grains(call.context.minion.grains.root()), pillar(call.context.minion.pillar.root()) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    write_minion_options(writer, call.context.minion.id);
    writer.end_object();
    (void)options_document.parse(text);  // written just now
    options = options_document.root();
    master = pillar.find("master").value_or(JsonValue());
  }

  JsonDocument options_document;
  JsonValue options;
  JsonValue grains;
  JsonValue pillar;
  JsonValue master;
};

Reply first_found(const std::vector<JsonValue>& stores, const Call& call) {
  for (const JsonValue& store : stores) {
    Traversed found = traverse(store, call.arguments[0], call.arguments[2]);
    if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
    const auto& value = std::get<std::optional<JsonValue>>(found);
    if (value) return Returned{value->json()};
  }
  return Returned{call.arguments[1].json()};
}

/// All stores as one object, the first of them on top.
JsonDocument all_merged(const Stores& stores, bool overwrite) {
  JsonDocument merged;
  (void)merged.parse("{}");
  for (const JsonValue& store : {stores.master, stores.pillar, stores.grains, stores.options}) {
    std::string text;
    JsonWriter writer(text);
    if (overwrite) {
      writer.begin_object();
      for (const auto& [key, value] : merged.root().members()) {
        if (!store.find(key)) value.write(writer.key(key));
      }
      for (const auto& [key, value] : store.members()) value.write(writer.key(key));
      writer.end_object();
    } else {
      write_merged(writer, merged.root(), store, false);
    }
    JsonDocument next;
    (void)next.parse(text, JsonLimits::none());  // written just now
    merged = std::move(next);
  }
  return merged;
}

Reply get(const Call& call) {
  const Stores stores(call);
  const JsonValue& merge = call.arguments[3];
  if (!merge.is(JsonValue::Kind::null)) {
    const JsonDocument merged = all_merged(stores, merge.text() == "overwrite");
    return first_found({merged.root()}, call);
  }
  std::vector<JsonValue> asked;
  if (!python_bool(call.arguments[4])) asked.push_back(stores.options);
  if (!python_bool(call.arguments[7])) asked.push_back(stores.grains);
  if (!python_bool(call.arguments[5])) asked.push_back(stores.pillar);
  if (!python_bool(call.arguments[6])) asked.push_back(stores.master);
  return first_found(asked, call);
}

constexpr std::array kGetParameters = {Parameter{"key"},
                                       Parameter{"default", R"("")"},
                                       Parameter{"delimiter", R"(":")"},
                                       Parameter{"merge", "null"},
                                       Parameter{"omit_opts", "false"},
                                       Parameter{"omit_pillar", "false"},
                                       Parameter{"omit_master", "false"},
                                       Parameter{"omit_grains", "false"}};

constexpr std::array kFunctions = {
    Function{.name = "config.get",
             .long_parameters = kGetParameters,
             .summary =
                 "Return a value out of the minion's options, grains, pillar, or the pillar's ``master``:\n"
                 "the first that has it, or, with ``merge`` (``recurse``, ``overwrite``), all laid together.",
             .example = "config.get pkg:apache\nconfig.get lxc.container_profile:centos merge=recurse",
             .run = get},
};

}  // namespace
}  // namespace config_module

void write_minion_options(JsonWriter& writer, std::string_view id) {
  writer.key("id").string(id);
  writer.key("backup_mode").string("");
  writer.key("hash_type").string("sha256");
  writer.key("pillarenv").null();
  writer.key("saltenv").null();
  writer.key("test").boolean(false);
}

std::span<const Function> config_functions() {
  return config_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
