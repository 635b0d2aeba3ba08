// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/proc_entry.h"

#include <utility>

#include "master/embedded/python/copied.h"

namespace rest_fcgi::embedded {

namespace {

std::string text_at(JsonValue object, std::string_view key) {
  return std::string(object.find(key).value_or(JsonValue()).text());
}

Json json_at(JsonValue object, std::string_view key) {
  return object.find(key).value_or(JsonValue()).json();
}

}  // namespace

Json to_json(const ProcEntry& entry) {
  const returner::Load& load = entry.load;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("pid").integer(entry.process.pid).key("started").string(entry.process.started);
  writer.key("jid").string(load.jid).key("fun").json(load.fun).key("arg").json(load.arg);
  writer.key("tgt").json(load.tgt).key("tgt_type").string(load.tgt_type).key("user").string(load.user);
  if (load.metadata) writer.key("metadata").json(*load.metadata);
  writer.key("ret").string(entry.ret).key("minions").begin_array();
  for (const std::string& minion : load.minions) writer.string(minion);
  writer.end_array().end_object();
  return Json::trusted(std::move(text));
}

std::optional<ProcEntry> proc_entry_from(std::string_view text) {
  JsonDocument document;
  if (!parse_copied(document, text)) return std::nullopt;
  const JsonValue root = document.root();
  const std::optional<std::int64_t> pid = root.find("pid").value_or(JsonValue()).integer();
  ProcEntry entry;
  entry.load.jid = text_at(root, "jid");
  if (!pid || entry.load.jid.empty()) return std::nullopt;
  entry.process = {static_cast<pid_t>(*pid), text_at(root, "started")};
  entry.load.fun = json_at(root, "fun");
  entry.load.arg = json_at(root, "arg");
  entry.load.tgt = json_at(root, "tgt");
  entry.load.tgt_type = text_at(root, "tgt_type");
  entry.load.user = text_at(root, "user");
  if (const auto metadata = root.find("metadata")) entry.load.metadata = metadata->json();
  entry.ret = text_at(root, "ret");
  const JsonValue minions = root.find("minions").value_or(JsonValue());
  for (const JsonValue minion : minions.elements()) entry.load.minions.emplace_back(minion.text());
  return entry;
}

}  // namespace rest_fcgi::embedded
