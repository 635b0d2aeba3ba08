// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "master/embedded/runners/master_function.h"
#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::array<std::string_view, 2> kLocalKeys = {"master.pem", "master.pub"};

Error match_must_be_text(JsonValue found) {
  return {ErrorKind::invocation, format("match must be a string, found {}", found.type_name())};
}

/// Every minion of this process counts as accepted: there is no key that somebody could have to accept.
void write_accepted(JsonWriter& writer, const Minions& minions) {
  writer.key("minions").begin_array();
  for (const Minion& minion : minions.all()) writer.string(minion.id);
  writer.end_array();
}

Result<Json> list_all(const MasterContext& context, const BoundArguments&) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_accepted(writer, context.minions);
  for (const std::string_view none : {"minions_pre", "minions_rejected", "minions_denied"}) {
    writer.key(none).begin_array().end_array();
  }
  writer.key("local").begin_array();
  for (const std::string_view name : kLocalKeys) writer.string(name);
  writer.end_array().end_object();
  return Json::trusted(std::move(text));
}

/// Salt looks at how `match` begins.
Result<Json> list(const MasterContext& context, const BoundArguments& arguments) {
  const JsonValue match = arguments.values[0];
  if (!match.is(JsonValue::Kind::string)) return match_must_be_text(match);
  const std::string_view status = match.text();
  if (status.starts_with("all")) return list_all(context, arguments);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  if (status.starts_with("acc")) {
    write_accepted(writer, context.minions);
  } else if (status.starts_with("pre") || status.starts_with("un")) {
    writer.key("minions_pre").begin_array().end_array();
  } else if (status.starts_with("rej")) {
    writer.key("minions_rejected").begin_array().end_array();
  } else if (status.starts_with("den")) {
    writer.key("minions_denied").begin_array().end_array();
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

/// `match`: globs as a list, or with commas between them.
Result<std::vector<std::string>> read_globs(JsonValue match) {
  std::vector<std::string> globs;
  if (match.is(JsonValue::Kind::array)) {
    for (const JsonValue glob : match.elements()) globs.push_back(glob.python_str());
    return globs;
  }
  if (!match.is(JsonValue::Kind::string)) return match_must_be_text(match);
  for (const std::string_view glob : target::split_ids(match.text())) globs.emplace_back(glob);
  return globs;
}

bool any_matches(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [name](const std::string& glob) { return glob_match(glob, name); });
}

Result<Json> name_match(const MasterContext& context, const BoundArguments& arguments) {
  const Result<std::vector<std::string>> globs = read_globs(arguments.values[0]);
  if (!globs) return globs.error();
  std::vector<std::string_view> ids;
  for (const Minion& minion : context.minions.all()) {
    if (any_matches(*globs, minion.id)) ids.push_back(minion.id);
  }
  if (ids.empty()) return Json::empty_object();
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("minions").begin_array();
  for (const std::string_view id : ids) writer.string(id);
  writer.end_array().end_object();
  return Json::trusted(std::move(text));
}

/// Minions of this process have no keys; of a key that is not there, Salt gives an empty text.
void write_no_keys(JsonWriter& writer, std::string_view status, const std::vector<std::string_view>& names) {
  if (names.empty()) return;
  writer.key(status).begin_object();
  for (const std::string_view name : names) writer.key(name).string("");
  writer.end_object();
}

Result<Json> write_absent_keys(const MasterContext& context, JsonValue match, bool with_local) {
  const Result<std::vector<std::string>> globs = read_globs(match);
  if (!globs) return globs.error();
  std::vector<std::string_view> ids;
  std::vector<std::string_view> local;
  for (const Minion& minion : context.minions.all()) {
    if (any_matches(*globs, minion.id)) ids.push_back(minion.id);
  }
  for (const std::string_view name : kLocalKeys) {
    if (with_local && any_matches(*globs, name)) local.push_back(name);
  }
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_no_keys(writer, "minions", ids);
  write_no_keys(writer, "local", local);
  writer.end_object();
  return Json::trusted(std::move(text));
}

Result<Json> finger(const MasterContext& context, const BoundArguments& arguments) {
  return write_absent_keys(context, arguments.values[0], true);
}

Result<Json> print(const MasterContext& context, const BoundArguments& arguments) {
  return write_absent_keys(context, arguments.values[0], false);
}

Result<Json> master_key(const MasterContext&, const BoundArguments&) {
  return Json::trusted(R"({"local": {"master.pub": ""}})");
}

constexpr std::array<MasterFunction, 7> kFunctions = {{
    {.name = "key.finger",
     .usage = "key.finger(match, hash_type=None)",
     .summary = "Show the fingerprints of keys; they are empty, as minions of this process need no keys.",
     .parameters = {{{"match", true}, {"hash_type"}}},
     .run = finger},
    {.name = "key.finger_master",
     .usage = "key.finger_master(hash_type=None)",
     .summary = "Show the fingerprint of the master's key; it is empty, as there is none.",
     .parameters = {{{"hash_type"}}},
     .run = master_key},
    {.name = "key.list",
     .usage = "key.list(match)",
     .summary = "List the minions whose keys have a status: accepted, pre, rejected, denied or all.",
     .parameters = {{{"match", true}}},
     .run = list},
    {.name = "key.list_all",
     .usage = "key.list_all()",
     .summary = "List the minions by the status of their keys; all count as accepted.",
     .run = list_all},
    {.name = "key.master_key_str",
     .usage = "key.master_key_str()",
     .summary = "Show the master's key; it is empty, as there is none.",
     .run = master_key},
    {.name = "key.name_match",
     .usage = "key.name_match(match)",
     .summary = "List the minions whose ids match globs, by the status of their keys.",
     .parameters = {{{"match", true}}},
     .run = name_match},
    {.name = "key.print",
     .usage = "key.print(match)",
     .summary = "Show keys; they are empty, as minions of this process need none.",
     .parameters = {{{"match", true}}},
     .run = print},
}};

}  // namespace

MasterFunctions key_wheels() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
