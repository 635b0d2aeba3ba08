// SPDX-License-Identifier: MIT
#include <string_view>
#include <unordered_set>
#include <utility>

#include "master/salt/calls/reply.h"
#include "master/salt/calls/reply_envelope.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

/// Ids in the order in which they came, each once. None where there is no such list.
Result<std::vector<std::string>> read_ids(const Fields& load, std::string_view name) {
  std::vector<std::string> ids;
  const auto* field = load.find(name);
  if (field == nullptr || field->kind == PackedValue::Kind::nil) return ids;
  const auto texts = read_texts(field->packed);
  if (!texts) return unknown_reply(format("its '{}' is no list of ids", name));
  ids.reserve(texts->size());
  std::unordered_set<std::string_view> known;
  for (const std::string_view id : *texts) {
    if (known.insert(id).second) ids.emplace_back(id);
  }
  return ids;
}

Result<Answer<master::Job>> read_job(const Fields& load) {
  const bool names_minions = load.find("minions") != nullptr;
  const std::string_view jid = load.text("jid");
  const std::string_view error = load.text("error");
  // Who could not find a minion says so beside an empty list of them; other failures come without a list.
  if (jid.empty() && names_minions && !error.empty()) return Answer<master::Job>{};
  if (!error.empty()) return said(error);
  if (jid.empty()) return unknown_reply("it has no 'jid'");
  if (!names_minions) return unknown_reply("it has no 'minions'");
  auto minions = read_ids(load, "minions");
  if (!minions) return std::move(minions).error();
  auto missing = read_ids(load, "missing");
  if (!missing) return std::move(missing).error();
  return Answer<master::Job>{std::nullopt, {}, {std::string(jid), *std::move(minions), *std::move(missing)}};
}

}  // namespace

Result<Answer<master::Job>> read_publish_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"load"});
  if (!reply) return std::move(reply).error();
  if (reply->refusal) return refused_as<master::Job>(*std::move(reply));
  const auto* load = reply->value.find("load");
  if (load == nullptr || load->kind != PackedValue::Kind::map) return unknown_reply("it has no 'load'");
  const auto fields = Fields::read(load->packed, {"jid", "minions", "missing", "error"});
  if (!fields) return fields.error();
  return read_job(*fields);
}

}  // namespace rest_fcgi::salt
