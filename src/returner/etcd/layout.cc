// SPDX-License-Identifier: MIT
#include "returner/etcd/layout.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/json_document.h"

// The values of the keys (layout.h lists the keys):
//   .load.p               {"fun", "jid", "tgt", "tgt_type", "arg", "user", "cmd": "publish", "kwargs":
//                         {"delimiter": ":", ["metadata"]}, ["Minions"]}
//   <minion>/<field>      JSON. The fields are cmd, id, success, return, retcode, jid, fun, fun_args,
//                         [_stamp] and [out]. A placeholder has no `_stamp`.
//   minions/<minion>      the jid, without quotation marks
//   claims/<jid>          the name of the process, `-` and a number
// Members in brackets may be missing. With `msgpack_`, each of the first three values is one msgpack `str`.

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostOfPart = 256;

/// Returns the root of all keys. With API v2, the root begins with a slash, because the keys are paths.
std::string root_of(const EtcdOptions& options) {
  if (!options.require_v2) return options.root;
  std::string root = "/";
  for (const char c : options.root) {
    if (c != '/' || root.back() != '/') root += c;
  }
  if (root.ends_with('/')) root.pop_back();
  return root;
}

void append_number(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

/// Returns the size in bytes of the length field of a msgpack `str` or `bin` with the first byte `first`.
std::optional<std::size_t> length_bytes(unsigned char first) {
  switch (first) {
    case 0xd9:
    case 0xc4:
      return 1;
    case 0xda:
    case 0xc5:
      return 2;
    case 0xdb:
    case 0xc6:
      return 4;
    default:
      return std::nullopt;
  }
}

constexpr std::string_view kMinions = "Minions";

bool parse_stored(JsonDocument& document, std::string_view text) {
  if (document.parse(text, JsonLimits::none())) return true;
  // Tries again, because `Json::string` replaces malformed UTF-8 by U+FFFD.
  if (!document.parse(Json::string(text).text(), JsonLimits::none())) return false;
  const std::string mended(document.root().text());
  return mended != text && document.parse(mended, JsonLimits::none()).ok();
}

Json member_of(JsonValue object, std::string_view name, Json otherwise) {
  const auto found = object.find(name);
  return found ? found->json() : std::move(otherwise);
}

std::string member_text(JsonValue object, std::string_view name, std::string_view otherwise) {
  const auto found = object.find(name);
  return std::string(found && found->is(JsonValue::Kind::string) ? found->text() : otherwise);
}

std::vector<std::string> listed_minions(JsonValue load) {
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

EtcdLayout::EtcdLayout(const EtcdOptions& options)
    : root_(root_of(options)), msgpack_(options.encode_values && !options.require_v2) {}

std::string EtcdLayout::job(std::string_view jid) const {
  return jobs().append(jid).append("/");
}

std::string EtcdLayout::load(std::string_view jid) const {
  return job(jid).append(".load.p");
}

std::string EtcdLayout::field(std::string_view jid, std::string_view minion, std::string_view name) const {
  return job(jid).append(minion).append("/").append(name);
}

std::string EtcdLayout::claim(std::string_view jid) const {
  return (root_ + "/claims/").append(jid);
}

std::string EtcdLayout::encoded(std::string_view text) const {
  std::string stored;
  stored.reserve(text.size() + 5);
  if (!msgpack_) return stored.append(text);
  if (text.size() < 32) {
    stored += static_cast<char>(0xa0 + text.size());
  } else if (text.size() <= UINT8_MAX) {
    append_number(stored += '\xd9', text.size(), 1);
  } else if (text.size() <= UINT16_MAX) {
    append_number(stored += '\xda', text.size(), 2);
  } else {
    append_number(stored += '\xdb', text.size(), 4);
  }
  return stored.append(text);
}

std::string_view decoded(std::string_view stored) {
  if (stored.empty()) return stored;
  const auto first = static_cast<unsigned char>(stored.front());
  const bool is_short = first >= 0xa0 && first <= 0xbf;
  const auto bytes = is_short ? std::optional<std::size_t>(0) : length_bytes(first);
  if (!bytes || stored.size() < 1 + *bytes) return stored;
  std::uint64_t length = is_short ? first - 0xa0 : 0;
  for (std::size_t i = 1; i <= *bytes; ++i) length = length << 8 | static_cast<unsigned char>(stored[i]);
  const std::string_view text = stored.substr(1 + *bytes);
  return text.size() == length ? text : stored;
}

std::optional<EtcdField> field_in(std::string_view rest) {
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const EtcdField field{rest.substr(0, slash), rest.substr(slash + 1)};
  if (!is_key_part(field.minion) || !is_key_part(field.name)) return std::nullopt;
  return field;
}

bool is_key_part(std::string_view text) {
  if (text.empty() || text.size() > kMostOfPart || text == "." || text == "..") return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_like_jid(std::string_view name) {
  return is_key_part(name) && is_jid(name.substr(0, kJidDigits));
}

std::string load_text(const Load& load) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("fun").json(load.fun).key("jid").string(load.jid).key("tgt").json(load.tgt);
  writer.key("tgt_type").string(load.tgt_type).key("arg").json(load.arg).key("user").string(load.user);
  writer.key("cmd").string("publish").key("kwargs").begin_object().key("delimiter").string(":");
  if (load.metadata) writer.key("metadata").json(*load.metadata);
  writer.end_object();
  if (!load.minions.empty()) write_minions(writer, load.minions);
  writer.end_object();
  return text;
}

std::optional<Load> load_in(std::string_view jid, std::string_view text) {
  JsonDocument document;
  if (!parse_stored(document, text)) return std::nullopt;
  const JsonValue root = document.root();
  if (!root.is(JsonValue::Kind::object)) return std::nullopt;
  Load load;
  load.jid = jid;
  load.fun = member_of(root, "fun", Json::string("unknown-function"));
  load.arg = member_of(root, "arg", member_of(root, "fun_args", Json::trusted("[]")));
  load.tgt = member_of(root, "tgt", Json::string("unknown-target"));
  load.tgt_type = member_text(root, "tgt_type", "list");
  load.user = member_text(root, "user", "root");
  auto metadata = root.find("metadata");
  const auto kwargs = root.find("kwargs");
  if (!metadata && kwargs) metadata = kwargs->find("metadata");
  if (metadata) load.metadata = metadata->json();
  load.minions = listed_minions(root);
  return load;
}

std::string load_of_return(std::string_view jid, std::string_view fun, std::string_view fun_args,
                           const std::vector<std::string>& minions) {
  return std::move(written_object([&](JsonWriter& writer) {
           writer.key("jid").string(jid);
           const auto field = [&](std::string_view name, std::string_view text) {
             if (!text.empty()) writer.key(name).json(json_in(text));
           };
           field("fun", fun);
           field("fun_args", fun_args);
           write_minions(writer, minions);
         }))
      .text();
}

std::optional<std::string> with_minions(std::string_view text, const std::vector<std::string>& minions) {
  JsonDocument document;
  if (!parse_stored(document, text)) return std::nullopt;
  const JsonValue root = document.root();
  if (!root.is(JsonValue::Kind::object)) return std::nullopt;
  std::string merged;
  JsonWriter writer(merged);
  writer.begin_object();
  for (const JsonMember member : root.members()) {
    if (member.key != kMinions) member.value.write(writer.key(member.key));
  }
  std::set<std::string> all(minions.begin(), minions.end());
  for (std::string& minion : listed_minions(root)) all.insert(std::move(minion));
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

bool read_field(JobReturn& ret, std::string_view name, std::string_view text) {
  if (name == "return") {
    ret.ret = json_in(text);
    return true;
  }
  if (name != "retcode" && name != "success" && name != "out") return false;
  JsonDocument document;
  if (!parse_stored(document, text)) return false;
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

Json json_in(std::string_view text) {
  JsonDocument document;
  return parse_stored(document, text) ? document.root().json() : Json::string(text);
}

}  // namespace rest_fcgi::returner
