// SPDX-License-Identifier: MIT
#include "client/wheel_client.h"

#include <utility>

#include "client/started_reply.h"

namespace rest_fcgi::client {

Result<Reply> WheelClient::cmd_sync(const master::Permit& permit) {
  Result<master::WheelReply> wheel = master_.wheel(permit);
  if (!wheel) return std::move(wheel).error();
  Reply reply;
  reply.items.push_back(std::move(wheel->reply));
  reply.jid = std::move(wheel->jid);
  return reply;
}

Result<Reply> WheelClient::cmd_async(const master::Permit& permit) {
  Result<master::Started> started = master_.wheel_async(permit);
  if (!started) return std::move(started).error();
  return started_reply(*std::move(started));
}

}  // namespace rest_fcgi::client
