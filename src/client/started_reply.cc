// SPDX-License-Identifier: MIT
#include "client/started_reply.h"

#include <utility>

namespace rest_fcgi::client {

Reply started_reply(master::Started started) {
  std::string text;
  JsonWriter(text).begin_object().key("tag").string(started.tag).key("jid").string(started.jid).end_object();
  Reply reply;
  reply.items.push_back(Json::trusted(std::move(text)));
  reply.jid = std::move(started.jid);
  return reply;
}

}  // namespace rest_fcgi::client
