// SPDX-License-Identifier: MIT
#include "returner/etcd_json.h"

#include <algorithm>
#include <limits>
#include <set>

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kMinions = "Minions";

bool parse(JsonDocument& document, std::string_view text, UnicodeErrors errors) {
  if (document.parse(text, JsonLimits::none())) return true;
  if (errors == UnicodeErrors::strict) return false;
  // As text of a JSON string it is UTF-8, with U+FFFD for what was none.
  if (!document.parse(Json::string(text).text(), JsonLimits::none())) return false;
  const std::string mended(document.root().text());
  return mended != text && document.parse(mended, JsonLimits::none()).ok();
}

Json member(JsonValue object, std::string_view name, Json otherwise) {
  const auto found = object.find(name);
  return found ? found->json() : std::move(otherwise);
}

std::string text_of(JsonValue object, std::string_view name, std::string_view otherwise) {
  const auto found = object.find(name);
  return std::string(found && found->is(JsonValue::Kind::string) ? found->text() : otherwise);
}

std::optional<Json> metadata_in(JsonValue load) {
  if (const auto own = load.find("metadata")) return own->json();
  const auto kwargs = load.find("kwargs");
  const auto found = kwargs ? kwargs->find("metadata") : std::nullopt;
  return found ? std::optional(found->json()) : std::nullopt;
}

std::vector<std::string> minions_in(JsonValue load) {
  std::vector<std::string> minions;
  const auto list = load.find(kMinions);
  if (!list) return minions;
  for (const JsonValue minion : list->elements()) {
    if (minion.is(JsonValue::Kind::string)) minions.emplace_back(minion.text());
  }
  return minions;
}

template <class Minions>
void write_minions(JsonWriter& writer, const Minions& minions) {
  writer.key(kMinions).begin_array();
  for (const std::string& minion : minions) writer.string(minion);
  writer.end_array();
}

}  // namespace

std::string load_text(std::string_view jid, const LoadView& load) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("fun").raw(load.fun).key("jid").string(jid).key("tgt").raw(load.tgt);
  writer.key("tgt_type").string(load.tgt_type).key("arg").raw(load.arg).key("user").string(load.user);
  writer.key("cmd").string("publish").key("kwargs").begin_object().key("delimiter").string(":");
  if (load.metadata) writer.key("metadata").raw(*load.metadata);
  writer.end_object();
  const std::vector<std::string> minions = minions_in(load.minions);
  if (!minions.empty()) write_minions(writer, minions);
  writer.end_object();
  return text;
}

std::optional<Load> load_in(std::string_view jid, std::string_view text, UnicodeErrors errors) {
  JsonDocument document;
  if (!parse(document, text, errors)) return std::nullopt;
  const JsonValue root = document.root();
  if (!root.is(JsonValue::Kind::object)) return std::nullopt;
  Load load;
  load.jid = jid;
  load.fun = member(root, "fun", Json::string("unknown-function"));
  load.arg = member(root, "arg", member(root, "fun_args", Json::trusted("[]")));
  load.tgt = member(root, "tgt", Json::string("unknown-target"));
  load.tgt_type = text_of(root, "tgt_type", "list");
  load.user = text_of(root, "user", "root");
  load.metadata = metadata_in(root);
  load.minions = minions_in(root);
  return load;
}

std::optional<std::string> with_minions(std::string_view text, const std::vector<std::string>& minions) {
  JsonDocument document;
  if (!parse(document, text, UnicodeErrors::replace)) return std::nullopt;
  const JsonValue root = document.root();
  if (!root.is(JsonValue::Kind::object)) return std::nullopt;
  std::string merged;
  JsonWriter writer(merged);
  writer.begin_object();
  for (const JsonMember member : root.members()) {
    if (member.key != kMinions) member.value.write(writer.key(member.key));
  }
  std::set<std::string> all(minions.begin(), minions.end());
  for (std::string& minion : minions_in(root)) all.insert(std::move(minion));
  write_minions(writer, all);
  writer.end_object();
  return merged;
}

std::vector<std::pair<std::string_view, std::string>> return_fields(std::string_view jid,
                                                                    const JobReturn& ret,
                                                                    const JobFacts& facts,
                                                                    std::string_view stamp) {
  const auto text = [](std::string_view value) { return Json::string(value).text(); };
  std::vector<std::pair<std::string_view, std::string>> fields{{"cmd", text("_return")},
                                                               {"id", text(ret.minion)},
                                                               {"success", ret.success ? "true" : "false"},
                                                               {"return", ret.ret.text()},
                                                               {"retcode", std::to_string(ret.retcode)},
                                                               {"jid", text(jid)},
                                                               {"fun", facts.fun},
                                                               {"fun_args", facts.arg}};
  if (!stamp.empty()) fields.emplace_back("_stamp", text(stamp));
  if (!ret.out.empty()) fields.emplace_back("out", text(ret.out));
  return fields;
}

bool read_field(JobReturn& ret, std::string_view name, std::string_view text, UnicodeErrors errors) {
  if (name == "return") {
    ret.ret = json_in(text, errors);
    return true;
  }
  if (name != "retcode" && name != "success" && name != "out") return false;
  JsonDocument document;
  if (!parse(document, text, errors)) return false;
  const JsonValue value = document.root();
  if (name == "success" && value.is(JsonValue::Kind::boolean)) ret.success = value.boolean();
  if (name == "out" && value.is(JsonValue::Kind::string)) ret.out = value.text();
  if (name == "retcode") {
    const std::int64_t code = value.integer().value_or(0);
    ret.retcode = static_cast<int>(
        std::clamp<std::int64_t>(code, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  return false;
}

Json json_in(std::string_view text, UnicodeErrors errors) {
  JsonDocument document;
  return parse(document, text, errors) ? document.root().json() : Json::string(text);
}

}  // namespace rest_fcgi::returner
