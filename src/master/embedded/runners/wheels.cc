// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "master/embedded/runners/runners.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::array<std::string_view, 2> kLocalKeys = {"master.pem", "master.pub"};
constexpr std::string_view kAccepted = "minions";

using Names = std::vector<std::string_view>;

/// Every minion of this process counts as accepted: there is no key that somebody could have to accept.
Names ids_of(const Minions& minions) {
  Names ids;
  for (const Minion& minion : minions.all()) ids.push_back(minion.id);
  return ids;
}

Error match_must_be_text(JsonValue found) {
  return {ErrorKind::invocation, format("match must be a string, found {}", found.type_name())};
}

Result<Json> list_all(const MasterContext& context, const Bound&) {
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(kAccepted), ids_of(context.minions));
    for (const std::string_view status : {"minions_pre", "minions_rejected", "minions_denied"}) {
      writer.key(status).begin_array().end_array();
    }
    write_strings(writer.key("local"), kLocalKeys);
  });
}

/// Salt looks at how `match` begins.
std::string_view status_meant(std::string_view match) {
  if (match.starts_with("acc")) return kAccepted;
  if (match.starts_with("pre") || match.starts_with("un")) return "minions_pre";
  if (match.starts_with("rej")) return "minions_rejected";
  return match.starts_with("den") ? "minions_denied" : "";
}

Result<Json> list(const MasterContext& context, const Bound& arguments) {
  const JsonValue match = arguments["match"];
  if (!match.is(JsonValue::Kind::string)) return match_must_be_text(match);
  if (match.text().starts_with("all")) return list_all(context, arguments);
  const std::string_view status = status_meant(match.text());
  if (status.empty()) return Json::empty_object();
  return written_object([&](JsonWriter& writer) {
    write_strings(writer.key(status), status == kAccepted ? ids_of(context.minions) : Names());
  });
}

/// Those of `names` that one of the globs of `match` matches: a list, or with commas between them.
Result<Names> matching(Names names, JsonValue match) {
  std::vector<std::string> globs;
  if (match.is(JsonValue::Kind::array)) {
    for (const JsonValue glob : match.elements()) globs.push_back(glob.python_str());
  } else if (match.is(JsonValue::Kind::string)) {
    for (const std::string_view glob : target::split_ids(match.text())) globs.emplace_back(glob);
  } else {
    return match_must_be_text(match);
  }
  std::erase_if(names, [&globs](std::string_view name) {
    return std::none_of(globs.begin(), globs.end(),
                        [name](const std::string& glob) { return glob_match(glob, name); });
  });
  return names;
}

Result<Json> name_match(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  if (ids->empty()) return Json::empty_object();
  return written_object([&ids](JsonWriter& writer) { write_strings(writer.key(kAccepted), *ids); });
}

/// Minions of this process have no keys; of a key that is not there, Salt gives an empty text.
void write_no_keys(JsonWriter& writer, std::string_view status, const Names& names) {
  if (names.empty()) return;
  writer.key(status).begin_object();
  for (const std::string_view name : names) writer.key(name).string("");
  writer.end_object();
}

Result<Json> print(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  return written_object([&ids](JsonWriter& writer) { write_no_keys(writer, kAccepted, *ids); });
}

Result<Json> finger(const MasterContext& context, const Bound& arguments) {
  const Result<Names> ids = matching(ids_of(context.minions), arguments["match"]);
  if (!ids) return ids.error();
  const Result<Names> local = matching({kLocalKeys.begin(), kLocalKeys.end()}, arguments["match"]);
  return written_object([&](JsonWriter& writer) {
    write_no_keys(writer, kAccepted, *ids);
    write_no_keys(writer, "local", *local);
  });
}

Result<Json> master_key(const MasterContext&, const Bound&) {
  return Json::trusted(R"({"local": {"master.pub": ""}})");
}

Result<Json> values(const MasterContext& context, const Bound&) {
  return context.config_values;
}

Result<Json> connected(const MasterContext& context, const Bound&) {
  return written_json([&](JsonWriter& writer) { write_strings(writer, ids_of(context.minions)); });
}

constexpr std::array<MasterFunction, 9> kWheels = {{
    {"config.values()", "Show the effective options that are no secret.", values},
    {"key.finger(match, hash_type=None)",
     "Show the fingerprints of keys; they are empty, as minions of this process need no keys.", finger},
    {"key.finger_master(hash_type=None)",
     "Show the fingerprint of the master's key; it is empty, as there is none.", master_key},
    {"key.list(match)", "List the minions whose keys have a status: accepted, pre, rejected, denied or all.",
     list},
    {"key.list_all()", "List the minions by the status of their keys; all count as accepted.", list_all},
    {"key.master_key_str()", "Show the master's key; it is empty, as there is none.", master_key},
    {"key.name_match(match)", "List the minions whose ids match globs, by the status of their keys.",
     name_match},
    {"key.print(match)", "Show keys; they are empty, as minions of this process need none.", print},
    {"minions.connected()", "List the minions.", connected},
}};

}  // namespace

MasterFunctions wheels() {
  return kWheels;
}

}  // namespace rest_fcgi::embedded
