// SPDX-License-Identifier: MIT
#include "client/runner_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "client/started_reply.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::client {
namespace {

using master::RunnerReturn;

Json whole_event(const RunnerReturn& ret, std::string_view tag) {
  std::string text;
  JsonWriter(text)
      .begin_object()
      .key("data")
      .json(ret.data)
      .key("tag")
      .string(format("{}/ret", tag))
      .end_object();
  return Json::trusted(std::move(text));
}

}  // namespace

Result<Reply> RunnerClient::cmd_sync(const master::Permit& permit) {
  const lowstate::MasterCall& call = permit.chunk().master();
  const SteadyTime until = system_clock().steady() + call.timeout.value_or(options_.rest_timeout);
  const auto returns = std::make_shared<master::RunnerReturns>();
  Result<master::Started> started = master_.runner(permit.ending_by(until), returns);
  if (!started) return std::move(started).error();
  std::optional<Result<RunnerReturn>> taken = returns->take(std::min(until, permit.deadline()));
  if (!taken) {
    return Error{ErrorKind::timeout, format("RunnerClient job '{}' timed out", started->jid), started->jid};
  }
  if (!*taken) {
    Error lost = std::move(*taken).error();
    lost.jid = started->jid;
    return lost;
  }
  RunnerReturn& ret = **taken;
  Reply reply;
  reply.items.push_back(call.full_return ? whole_event(ret, started->tag) : std::move(ret.ret));
  reply.jid = std::move(started->jid);
  return reply;
}

Result<Reply> RunnerClient::cmd_async(const master::Permit& permit) {
  Result<master::Started> started = master_.runner_async(permit);
  if (!started) return std::move(started).error();
  return started_reply(*std::move(started));
}

}  // namespace rest_fcgi::client
