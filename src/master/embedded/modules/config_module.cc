// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/json_text.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/traverse.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {
namespace {

/// Where `config` looks for a key, first to last: the minion's options, its grains, its pillar, and what the
/// pillar says of the master. The configuration of this server is none of them, since it holds secrets.
struct Stores {
  explicit Stores(const Call& call)
      : grains(call.context.minion.grains.root()), pillar(call.context.minion.pillar.root()) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    writer.key("id").string(call.context.minion.id);
    writer.key("backup_mode").string("");
    writer.key("hash_type").string("sha256");
    writer.key("pillarenv").null();
    writer.key("saltenv").null();
    writer.key("test").boolean(false);
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
    (void)next.parse(text);  // written just now
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

/// The stores that `option` and its omissions leave, first to last.
std::vector<JsonValue> stores_of_option(const Stores& stores, const Call& call) {
  std::vector<JsonValue> asked;
  if (python_bool(call.arguments[6])) return asked;
  if (!python_bool(call.arguments[2])) asked.push_back(stores.options);
  if (!python_bool(call.arguments[3])) asked.push_back(stores.grains);
  if (!python_bool(call.arguments[4])) asked.push_back(stores.pillar);
  if (!python_bool(call.arguments[5])) asked.push_back(stores.master);
  return asked;
}

/// All members whose keys match.
Json matching(const std::vector<JsonValue>& stores, std::string_view pattern) {
  std::vector<std::string_view> seen;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonValue& store : stores) {
    for (const auto& [key, value] : store.members()) {
      const bool known = std::find(seen.begin(), seen.end(), key) != seen.end();
      if (known || !glob_match(pattern, key)) continue;
      seen.push_back(key);
      value.write(writer.key(key));
    }
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

Reply option(const Call& call) {
  const Stores stores(call);
  const std::vector<JsonValue> asked = stores_of_option(stores, call);
  const bool wildcard = python_bool(call.arguments[7]);
  const bool has_default = !call.arguments[1].is(JsonValue::Kind::null);
  if (wildcard) {
    Json found = matching(asked, call.arguments[0].text());
    if (found != Json::empty_object() || !has_default) return Returned{std::move(found)};
    return Returned{call.arguments[1].json()};
  }
  for (const JsonValue& store : asked) {
    if (const auto value = store.find(call.arguments[0].text())) return Returned{value->json()};
  }
  return Returned{has_default ? call.arguments[1].json() : Json::string("")};
}

/// Salt's order here: options, master, pillar. Maps and lists of the same key are laid together.
Reply merge(const Call& call) {
  const Stores stores(call);
  std::vector<JsonValue> asked;
  if (!python_bool(call.arguments[2])) asked.push_back(stores.options);
  if (!python_bool(call.arguments[3])) asked.push_back(stores.master);
  if (!python_bool(call.arguments[4])) asked.push_back(stores.pillar);
  JsonDocument found;
  bool any = false;
  for (const JsonValue& store : asked) {
    const auto value = store.find(call.arguments[0].text());
    if (!value || (any && found.root().kind() != value->kind())) continue;
    std::string text;
    JsonWriter writer(text);
    if (any && value->is(JsonValue::Kind::object)) {
      write_merged(writer, *value, found.root(), false);
    } else if (any && value->is(JsonValue::Kind::array)) {
      writer.begin_array();
      for (const JsonValue element : found.root().elements()) element.write(writer);
      for (const JsonValue element : value->elements()) element.write(writer);
      writer.end_array();
    } else {
      (any ? found.root() : *value).write(writer);
    }
    JsonDocument next;
    (void)next.parse(text);  // written just now
    found = std::move(next);
    any = true;
  }
  return Returned{any ? found.root().json() : call.arguments[1].json()};
}

Reply items(const Call& call) {
  return Returned{Stores(call).options.json()};
}

Reply dot_vals(const Call& call) {
  const Stores stores(call);
  const std::string pattern = call.arguments[0].python_str() + ".";
  return written([&](JsonWriter& writer) {
    writer.begin_object();
    for (const auto& [key, value] : stores.master.members()) {
      if (key.starts_with(pattern)) value.write(writer.key(key));
    }
    writer.end_object();
  });
}

Reply backup_mode(const Call& call) {
  return Returned{python_bool(call.arguments[0]) ? call.arguments[0].json() : Json::string("")};
}

Reply manage_mode(const Call& call) {
  if (call.arguments[0].is(JsonValue::Kind::null)) return Returned{};
  return Returned{Json::string(normalized_mode(call.arguments[0].python_str()))};
}

Reply valid_fileproto(const Call& call) {
  const std::string uri = call.arguments[0].python_str();
  const std::string_view scheme = std::string_view(uri).substr(0, std::min(uri.find(':'), uri.size()));
  constexpr std::array<std::string_view, 7> known = {"salt", "file", "http", "https", "ftp", "s3", "swift"};
  const bool valid =
      scheme.size() < uri.size() && std::find(known.begin(), known.end(), scheme) != known.end();
  return Returned{Json::boolean(valid)};
}

constexpr std::array kGetParameters = {Parameter{"key"},
                                       Parameter{"default", R"("")"},
                                       Parameter{"delimiter", R"(":")"},
                                       Parameter{"merge", "null"},
                                       Parameter{"omit_opts", "false"},
                                       Parameter{"omit_pillar", "false"},
                                       Parameter{"omit_master", "false"},
                                       Parameter{"omit_grains", "false"}};

constexpr std::array kOptionParameters = {Parameter{"value"},
                                          Parameter{"default", "null"},
                                          Parameter{"omit_opts", "false"},
                                          Parameter{"omit_grains", "false"},
                                          Parameter{"omit_pillar", "false"},
                                          Parameter{"omit_master", "false"},
                                          Parameter{"omit_all", "false"},
                                          Parameter{"wildcard", "false"}};

constexpr std::array kFunctions = {
    Function{.name = "config.backup_mode",
             .python_name = "backup_mode",
             .parameters = {{{"backup", R"("")"}}},
             .summary = "Return ``backup``: this minion has no backup mode of its own.",
             .example = "config.backup_mode",
             .run = backup_mode},
    Function{.name = "config.dot_vals",
             .python_name = "dot_vals",
             .parameters = {{{"value"}}},
             .summary = "Return what the pillar's ``master`` has under keys that begin with ``value.``",
             .example = "config.dot_vals host",
             .run = dot_vals},
    Function{.name = "config.get",
             .python_name = "get",
             .long_parameters = kGetParameters,
             .summary =
                 "Return a value out of the minion's options, grains, pillar, or the pillar's ``master``:\n"
                 "the first that has it, or, with ``merge`` (``recurse``, ``overwrite``), all laid together.",
             .example = "config.get pkg:apache\nconfig.get lxc.container_profile:centos merge=recurse",
             .run = get},
    Function{.name = "config.items",
             .python_name = "items",
             .summary = "Return the minion's options.",
             .example = "config.items",
             .run = items},
    Function{.name = "config.manage_mode",
             .python_name = "manage_mode",
             .parameters = {{{"mode"}}},
             .summary = "Return a file's permissions in four digits.",
             .example = "config.manage_mode 644",
             .run = manage_mode},
    Function{.name = "config.merge",
             .python_name = "merge",
             .parameters = {{{"value"},
                             {"default", R"("")"},
                             {"omit_opts", "false"},
                             {"omit_master", "false"},
                             {"omit_pillar", "false"}}},
             .summary = "Return the maps or lists that the options and the pillar have under a key, as one.",
             .example = "config.merge schedule",
             .run = merge},
    Function{
        .name = "config.option",
        .python_name = "option",
        .long_parameters = kOptionParameters,
        .summary =
            "Return a value as ``config.get`` does, by its whole name. With ``wildcard``, all whose names\n"
            "match.",
        .example = "config.option redis.host\nconfig.option 'os*' wildcard=True",
        .run = option},
    Function{.name = "config.valid_fileproto",
             .python_name = "valid_fileproto",
             .parameters = {{{"uri"}}},
             .summary = "Return whether Salt can fetch files from such a URI.",
             .example = "config.valid_fileproto salt://path/to/file",
             .run = valid_fileproto},
};

}  // namespace

std::span<const Function> config_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
