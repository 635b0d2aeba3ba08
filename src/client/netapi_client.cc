// SPDX-License-Identifier: MIT
#include "rest_fcgi/client/netapi_client.h"

#include <algorithm>

#include "client/local.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::client {
namespace {

using lowstate::Client;
using master::RunnerReturn;
using master::with_jid;

Result<Reply> reply_with(const ChunkCall& call, Json item, std::string jid) {
  if (item.text().size() > call.room) return with_jid(reply_too_large(call.options.max_reply_bytes), jid);
  Reply reply;
  reply.items.push_back(std::move(item));
  reply.jid = std::move(jid);
  return reply;
}

/// Returns `{"tag": ..., "jid": ...}`, the reply of `runner_async` and `wheel_async`.
Result<Reply> started_reply(const ChunkCall& call, Result<master::Started> started) {
  if (!started) return std::move(started).error();
  Json reply = written_object([&started](JsonWriter& writer) {
    writer.key("tag").string(started->tag).key("jid").string(started->jid);
  });
  Result<Reply> made = reply_with(call, std::move(reply), std::move(started->jid));
  if (made) {
    made->gate = std::move(started->gate);
    made->is_accepted = started->is_accepted;
  }
  return made;
}

// The functions are not inlined, so that `run_call` has a small stack frame.

/// Runs a chunk of the client `runner`. Returns the function's return, or with `full_return` the event of the
/// return. A timeout ends the wait, but not the function.
[[gnu::noinline]] Result<Reply> runner(const ChunkCall& call) {
  const lowstate::MasterCall& asked = call.permit.chunk().master();
  const SteadyTime until = call.clock.steady() + asked.timeout.value_or(call.options.rest_timeout);
  const auto returns = std::make_shared<master::RunnerReturns>();
  Result<master::Started> started = call.master.runner(call.permit.ending_by(until), returns);
  if (!started) return std::move(started).error();
  std::optional<Result<RunnerReturn>> taken = returns->take(std::min(until, call.permit.deadline()));
  if (!taken) {
    return Error{ErrorKind::timeout, format("RunnerClient job '{}' timed out", started->jid), started->jid};
  }
  if (!*taken) return master::still_runs(std::move(*taken).error(), started->jid);
  RunnerReturn& ret = **taken;
  if (asked.full_return) {
    ret.ret = written_object([&](JsonWriter& writer) {
      writer.key("data").json(ret.data).key("tag").string(format("{}/ret", started->tag));
    });
  }
  return reply_with(call, std::move(ret.ret), std::move(started->jid));
}

/// Runs a chunk of the client `wheel`. Returns the master's whole reply, even if the wheel function failed.
[[gnu::noinline]] Result<Reply> wheel(const ChunkCall& call) {
  Result<master::WheelReply> wheel = call.master.wheel(call.permit);
  if (!wheel) return std::move(wheel).error();
  return reply_with(call, std::move(wheel->reply), std::move(wheel->jid));
}

[[gnu::noinline]] Result<Reply> ssh(const ChunkCall& call) {
  Result<master::SshReply> ran = call.master.ssh(call.permit, call.room);
  if (ran) return reply_with(call, std::move(ran->reply), std::move(ran->jid));
  Error failed = std::move(ran).error();
  if (failed.kind == ErrorKind::reply_too_large)
    failed.message = reply_too_large(call.options.max_reply_bytes).message;
  return failed;
}

Result<Reply> run_call(const ChunkCall& call) {
  switch (call.permit.chunk().client) {
    case Client::local:
      return cmd(call);
    case Client::local_async:
      return run_job(call);
    case Client::local_batch:
      return cmd_batch(call);
    case Client::local_subset:
      return cmd_subset(call);
    case Client::runner:
      return runner(call);
    case Client::runner_async:
      return started_reply(call, call.master.runner_async(call.permit));
    case Client::wheel:
      return wheel(call);
    case Client::wheel_async:
      return started_reply(call, call.master.wheel_async(call.permit));
    case Client::ssh:
      return ssh(call);
  }
  return Error{ErrorKind::internal, "Internal error: the client of this lowstate chunk has no handler."};
}

}  // namespace

NetapiClient::NetapiClient(Options options, std::shared_ptr<master::Master> master, const Clock& clock)
    : options_(std::move(options)), master_(std::move(master)), clock_(clock) {}

Result<master::Permit> NetapiClient::admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                           const master::Permit* before) const {
  if (std::find(options_.enabled.begin(), options_.enabled.end(), chunk.client) == options_.enabled.end()) {
    return Error{
        ErrorKind::invocation,
        format("Client disabled: '{}'. Add to 'netapi_enable_clients' master config option to enable.",
               name_of(chunk.client))};
  }
  return admit_own(chunk, deadline, before);
}

Result<master::Permit> NetapiClient::admit_own(const lowstate::Chunk& chunk, SteadyTime deadline,
                                               const master::Permit* before) const {
  if (chunk.credentials.kind == auth::Credentials::Kind::none) {
    return Error{ErrorKind::authentication, "No authentication credentials given"};
  }
  return master_->admit(chunk, deadline, before);
}

SteadyTime NetapiClient::deadline() const {
  return clock_.steady() + options_.request_timeout;
}

Result<master::EventPermit> NetapiClient::admit_events(const master::Session& session) const {
  const auto scope = options_.events_for_everybody ? auth::EventScope::all : session.events;
  if (scope != auth::EventScope::nothing) return master::EventPermit{scope, session.user};
  Error refused{ErrorKind::authorization, "No rule of external_auth lets you see events."};
  refused.user = session.user;
  refused.eauth = session.eauth;
  return refused;
}

Result<Reply> NetapiClient::run(const master::Permit& permit, std::atomic<std::size_t>* gathered) const {
  if (clock_.steady() >= permit.deadline()) {
    return Error{
        ErrorKind::timeout,
        format("Lowstate chunk {} was not started: the request had taken {} seconds (request_timeout)",
               permit.chunk().index, std::chrono::duration<double>(options_.request_timeout).count())};
  }
  const std::size_t most = options_.max_reply_bytes;
  const std::size_t before = gathered == nullptr ? 0 : gathered->load();
  const ChunkCall call{*master_, permit, options_, clock_, most - std::min(before, most)};
  Result<Reply> reply = run_call(call);
  if (gathered == nullptr || !reply) return reply;
  std::size_t bytes = 0;
  for (const Json& item : reply->items) bytes += item.text().size();
  const std::size_t others = gathered->fetch_add(bytes);
  // Other chunks of the request may have added results in the meantime.
  if (reply->failure || others == before || others + bytes <= most) return reply;
  return with_jid(reply_too_large(most), reply->jid);
}

}  // namespace rest_fcgi::client
