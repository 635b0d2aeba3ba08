// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "master/salt/calls/reply.h"
#include "master/salt/calls/reply_envelope.h"
#include "master/salt/packed/to_json.h"

namespace rest_fcgi::salt {

Result<Answer<master::Started>> read_runner_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"tag", "jid"});
  if (!reply) return std::move(reply).error();
  if (reply->refusal) return refused_as<master::Started>(*std::move(reply));
  const std::string_view jid = reply->value.text("jid");
  const std::string_view tag = reply->value.text("tag");
  if (jid.empty() || tag.empty()) return unknown_reply("it has no 'jid' or no 'tag'");
  return Answer<master::Started>{std::nullopt, {}, {std::string(jid), std::string(tag)}};
}

Result<Answer<master::WheelReply>> read_wheel_reply(std::string_view bytes) {
  auto reply = open_reply(bytes, {"data"});
  if (!reply) return std::move(reply).error();
  if (reply->refusal) return refused_as<master::WheelReply>(*std::move(reply));
  const auto* data = reply->value.find("data");
  if (data == nullptr || data->kind != PackedValue::Kind::map) return unknown_reply("it has no 'data'");
  const auto fields = Fields::read(data->packed, {"jid"});
  if (!fields) return fields.error();
  const std::string_view jid = fields->text("jid");
  if (jid.empty()) return unknown_reply("its 'data' has no 'jid'");
  auto json = to_json(bytes);
  if (!json) return unknown_reply(json.error().message);
  return Answer<master::WheelReply>{std::nullopt, {}, {std::string(jid), *std::move(json)}};
}

}  // namespace rest_fcgi::salt
