// SPDX-License-Identifier: MIT
#include "master/salt/salt_master.h"

#include <chrono>
#include <utility>

#include "master/salt/job_listener.h"
#include "master/salt/publication_load.h"
#include "master/salt/strict_functions.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using master::Permit;
using master::Publication;
using What = Publication::What;

/// How long what nobody waits for may take.
constexpr std::chrono::minutes kBackground{10};

/// How long a login may take whose caller has set no end.
constexpr std::chrono::seconds kLogin{60};

Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// Was it possibly carried out, though nobody knows?
bool is_lost(const Error& error) {
  return error.kind == ErrorKind::unavailable || error.kind == ErrorKind::timeout ||
         error.kind == ErrorKind::internal;
}

/// Does `admit` look anything up for it? What it then says tells of the configuration, and rules may take
/// long: that is for those who are logged in.
bool is_looked_up(const lowstate::Chunk& chunk) {
  if (!chunk.is_local()) return false;
  const lowstate::LocalCall& call = chunk.local();
  return !call.jid.empty() || call.functions.size() > 1 || Nodegroups::may_name_one(call.target);
}

Published published(const Permit& permit, const Publication& publication) {
  if (publication.what != What::call) return {{std::string(function_of(publication.what))}, permit.user()};
  Published call{{}, permit.user()};
  for (const auto& function : permit.chunk().local().functions) call.functions.emplace_back(function.name);
  return call;
}

Error own_jid_inline(const lowstate::Chunk& chunk) {
  return {ErrorKind::invocation,
          format("Lowstate chunk {}: `jid` cannot be chosen with inline_login: a master shows a refused "
                 "call that has one to everybody on its event bus, credentials included",
                 chunk.index)};
}

/// Nobody waits for what comes of it but the log.
void send_wheel(RequestPool& requests, WipedBytes load, const std::string& jid) {
  const auto reply = requests.request(Lane::call, std::move(load), system_clock().steady() + kBackground);
  if (!reply) return log::warning(format("wheel_async {}: {}", jid, reply.error().message));
  const auto answer = read_wheel_reply({reply->data(), reply->size()});
  if (!answer) {
    log::warning(format("wheel_async {}: {}", jid, answer.error().message));
  } else if (answer->refusal) {
    log::warning(format("wheel_async {}: the master refused it: {}", jid, answer->message));
  }
}

}  // namespace

SaltMaster::SaltMaster(const Options& options, std::unique_ptr<auth::Logins> logins,
                       std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<SaltRuntime> runtime)
    : options_(options),
      nodegroups_(options.nodegroups, options.conf_file),
      callers_(options.inline_login, std::move(logins), runtime->requests()),
      permissions_(std::move(permissions)),
      runtime_(std::move(runtime)) {}

Result<Permit> SaltMaster::admit(const lowstate::Chunk& chunk, SteadyTime deadline) {
  const auth::Credentials& credentials = chunk.credentials;
  auto grant = callers_.login(credentials, deadline);
  if (!grant) return std::move(grant).error();
  const bool known = *grant != nullptr;
  if (!known && is_looked_up(chunk)) {
    if (auto confirmed = callers_.confirm(credentials, deadline); !confirmed) {
      return std::move(confirmed).error();
    }
  }
  std::string user(known ? (*grant)->name : credentials.username);
  std::string eauth(known ? (*grant)->eauth : credentials.eauth);
  if (chunk.is_local()) {
    const auth::Subject subject{
        eauth, user, known ? std::span(std::as_const((*grant)->groups)) : std::span<const std::string>()};
    if (auto checked = check_local(chunk, subject); !checked) return std::move(checked).error();
  }
  const bool wheel = chunk.client == lowstate::Client::wheel || chunk.client == lowstate::Client::wheel_async;
  if (wheel) {
    if (auto checked = check_wheel_arguments(chunk.master()); !checked) return std::move(checked).error();
  }
  return permit(chunk, std::move(user), std::move(eauth), deadline);
}

Result<void> SaltMaster::check_local(const lowstate::Chunk& chunk, const auth::Subject& subject) const {
  const lowstate::LocalCall& call = chunk.local();
  if (options_.inline_login && !call.jid.empty()) return own_jid_inline(chunk);
  if (auto target = nodegroups_.expand(call.target); !target) return std::move(target).error();
  auto checked = check_each_function(*permissions_, subject, call);
  if (checked) return {};
  Error refused = std::move(checked).error();
  refused.user = subject.name;
  refused.eauth = subject.eauth;
  return refused;
}

Result<master::Job> SaltMaster::send(const Permit& permit, const Publication& publication) const {
  const auto load = publication_load(permit, publication, options_, nodegroups_);
  if (!load) return load.error();
  Result<master::Job> job = callers_.call(
      permit, publication.what == What::find_job ? kQuestion : kPublish,
      [&](const Caller& caller) { return publish_load(*load, caller); }, read_publish_reply);
  if (!job && is_lost(job.error())) return with_jid(std::move(job).error(), load->jid);
  return job;
}

Result<master::Job> SaltMaster::publish(const Permit& permit, const Publication& publication,
                                        std::shared_ptr<master::Returns> returns) {
  auto expectation = runtime_->bus().expect(permit.deadline());
  if (!expectation) return std::move(expectation).error();
  Result<master::Job> job = send(permit, publication);
  if (!job || job->jid.empty()) return job;
  JobListener::Options options;
  options.whole_events = publication.what == What::call && permit.chunk().local().raw;
  options.has_function = publication.what == What::has_function;
  options.syndics = options_.order_masters;
  const auto listening = expectation->listen(
      job->jid,
      std::make_shared<JobListener>(returns, job->minions, published(permit, publication), options));
  if (!listening) return with_jid(listening.error(), job->jid);
  return job;
}

Result<master::Job> SaltMaster::publish_async(const Permit& permit) {
  return send(permit, {});
}

Result<master::Started> SaltMaster::runner(const Permit& permit,
                                           std::shared_ptr<master::RunnerReturns> returns) {
  auto expectation = runtime_->bus().expect(permit.deadline());
  if (!expectation) return std::move(expectation).error();
  Result<master::Started> started = runner_async(permit);
  if (!started) return started;
  const bool whole = permit.chunk().master().full_return;
  const auto listening = expectation->listen(started->jid, std::make_shared<RunnerListener>(returns, whole));
  if (!listening) return with_jid(listening.error(), started->jid);
  return started;
}

Result<master::Started> SaltMaster::runner_async(const Permit& permit) {
  return callers_.call(
      permit, kRunner, [&](const Caller& caller) { return runner_load(permit.chunk().master(), caller); },
      read_runner_reply);
}

Result<master::WheelReply> SaltMaster::wheel(const Permit& permit) {
  return callers_.call(
      permit, kWheel,
      [&](const Caller& caller) -> Result<WipedBytes> { return wheel_load(permit.chunk().master(), caller); },
      read_wheel_reply);
}

/// As Salt's own client does, it answers at once with an id that it made itself; but its caller is logged in
/// by then.
Result<master::Started> SaltMaster::wheel_async(const Permit& permit) {
  const auth::Credentials& credentials = permit.chunk().credentials;
  const auto grant = callers_.confirmed_login(credentials, permit.deadline());
  if (!grant) return grant.error();
  const auth::Credentials token = *grant ? token_of(**grant) : auth::Credentials();
  const std::string jid = runtime_->next_jid();
  const master::Started started{jid, format("salt/wheel/{}", jid)};
  auto room = runtime_->workers().reserve(1);
  if (!room) return std::move(room).error();
  auto load = std::make_shared<WipedBytes>(wheel_load(permit.chunk().master(),
                                                      {*grant ? &token : &credentials, permit.user()},
                                                      WheelJob{started.jid, started.tag, permit.user()}));
  room->submit([requests = runtime_->requests(), load, jid](const std::stop_token&) {
    send_wheel(*requests, std::move(*load), jid);
  });
  return started;
}

Result<Secret> SaltMaster::make_token(const auth::Credentials& credentials) {
  auto grant = callers_.ask(credentials, system_clock().steady() + kLogin);
  if (!grant) return std::move(grant).error();
  return std::move(grant->token);
}

Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::Logins> logins,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime) {
  return std::shared_ptr<master::Master>(
      std::make_shared<SaltMaster>(options, std::move(logins), std::move(permissions),
                                   std::static_pointer_cast<SaltRuntime>(std::move(runtime))));
}

}  // namespace rest_fcgi::salt
