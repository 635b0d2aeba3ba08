// SPDX-License-Identifier: MIT
#include "master/salt/salt_master.h"

#include <chrono>
#include <utility>

#include "master/salt/job_listener.h"
#include "master/salt/strict_functions.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using auth::Credentials;
using master::Permit;
using master::Publication;
using What = Publication::What;

/// How long a login or a call in the background may take whose caller has set no end.
constexpr std::chrono::seconds kPatience{60};

/// What every caller gets to see whose credentials are not good, whichever engine it is.
Error bad_credentials() {
  return {ErrorKind::authentication, "Authorization error occurred."};
}

Error no_rights(const Permit& permit) {
  Error error{ErrorKind::authorization, "Authorization error occurred."};
  error.user = permit.user();
  error.eauth = permit.eauth();
  return error;
}

Credentials token_credentials(const auth::Grant& grant) {
  Credentials credentials;
  credentials.kind = Credentials::Kind::token;
  credentials.token = grant.token;
  return credentials;
}

PublishLoad::Target list_of(const std::vector<std::string>& minions) {
  return {lowstate::TargetType::list, minions, ":"};
}

std::string joined(std::string_view ret, std::string_view ext_job_cache) {
  return format("{}{}{}", ret, ret.empty() || ext_job_cache.empty() ? "" : ",", ext_job_cache);
}

Error with_jid(Error error, const std::string& jid) {
  error.jid = jid;
  return error;
}

}  // namespace

SaltMaster::SaltMaster(const Options& options, std::unique_ptr<auth::RemoteLogins> logins,
                       std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<SaltRuntime> runtime)
    : options_(options),
      nodegroups_(options.nodegroups, options.conf_file),
      logins_(std::move(logins)),
      permissions_(std::move(permissions)),
      runtime_(std::move(runtime)) {}

Result<Permit> SaltMaster::admit(const lowstate::Chunk& chunk, SteadyTime deadline) {
  if (chunk.is_local()) {
    // Before anything runs, and at no cost to the master.
    if (auto target = nodegroups_.expand(chunk.local().target); !target) return std::move(target).error();
  }
  if (chunk.is_local() && !chunk.local().jid.empty() && options_.inline_login) {
    return Error{
        ErrorKind::invocation,
        format("Lowstate chunk {}: `jid` cannot be chosen with inline_login: a master shows a refused "
               "call that has one to everybody on its event bus, credentials included",
               chunk.index)};
  }
  const Credentials& credentials = chunk.credentials;
  auto grant = login(credentials, deadline);
  if (!grant) return std::move(grant).error();
  const bool known = *grant != nullptr;
  std::string user(known ? (*grant)->name : credentials.username);
  std::string eauth(known ? (*grant)->eauth : credentials.eauth);
  if (chunk.is_local()) {
    const auth::Subject subject{
        eauth, user, known ? std::span(std::as_const((*grant)->groups)) : std::span<const std::string>()};
    if (auto checked = check_each_function(*permissions_, subject, chunk.local()); !checked) {
      Error refused = std::move(checked).error();
      refused.user = user;
      refused.eauth = eauth;
      return refused;
    }
  }
  return permit(chunk, std::move(user), std::move(eauth), deadline);
}

Result<SaltMaster::GrantPtr> SaltMaster::login(const Credentials& credentials, SteadyTime deadline) const {
  if (options_.inline_login && credentials.kind == Credentials::Kind::eauth) return GrantPtr();
  return logins_->login(
      credentials, [&](const Credentials& asked) { return ask_for_grant(asked, deadline); }, deadline);
}

Result<auth::Grant> SaltMaster::ask_for_grant(const Credentials& credentials, SteadyTime deadline) const {
  const bool by_token = credentials.kind == Credentials::Kind::token;
  auto reply = by_token ? runtime_->requests().request(Lane::publish, get_token_load(credentials), deadline)
                        : runtime_->requests().request(Lane::login, mk_token_load(credentials), deadline);
  if (!reply) return std::move(reply).error();
  const std::string_view bytes(reply->data(), reply->size());
  auto answer = by_token ? read_get_token_reply(bytes) : read_mk_token_reply(bytes);
  if (!answer) return std::move(answer).error();
  if (answer->refusal) return bad_credentials();
  return std::move(answer->value);
}

template <class Write, class Read>
auto SaltMaster::call(const Permit& permit, Lane lane, const Write& write, const Read& read) const {
  using Value = decltype((*read(std::string_view())).value);
  const Credentials& credentials = permit.chunk().credentials;
  const auto once = [&](const GrantPtr& grant) -> Result<Answer<Value>> {
    const Credentials token = grant ? token_credentials(*grant) : Credentials();
    const Caller caller{grant ? &token : &credentials, permit.user()};
    Result<WipedBytes> load = write(caller);
    if (!load) return std::move(load).error();
    auto reply = runtime_->requests().request(lane, *std::move(load), permit.deadline());
    if (!reply) return std::move(reply).error();
    return read(std::string_view(reply->data(), reply->size()));
  };
  const auto twice = [&]() -> Result<Value> {
    // A token that the master has forgotten, or that has expired, is one refusal; then the credentials are
    // asked about anew. A refused call has not run.
    for (bool again = false;; again = true) {
      Result<GrantPtr> grant = login(credentials, permit.deadline());
      if (!grant) return std::move(grant).error();
      Result<Answer<Value>> answer = once(*grant);
      if (!answer) return std::move(answer).error();
      if (!answer->refusal) return std::move(answer->value);
      if (*answer->refusal == Refusal::rights) return no_rights(permit);
      if (*grant) logins_->forget(credentials, **grant);
      if (!*grant || again) return bad_credentials();
    }
  };
  return twice();
}

Result<PublishLoad> SaltMaster::load_for(const Permit& permit, const Publication& publication) const {
  const lowstate::LocalCall& call = permit.chunk().local();
  PublishLoad load;
  if (publication.only) {
    load.target = list_of(*publication.only);
  } else {
    auto target = nodegroups_.expand(call.target);
    if (!target) return std::move(target).error();
    load.target = *std::move(target);
  }
  if (options_.order_masters) {
    load.to = std::chrono::ceil<std::chrono::seconds>(call.timeout.value_or(options_.timeout));
  }
  switch (publication.what) {
    case What::call:
      load.call = &call;
      load.ret = joined(call.ret, options_.ext_job_cache);
      load.metadata = call.metadata;
      if (permit.chunk().client != lowstate::Client::local_batch) load.jid = call.jid;
      break;
    case What::ping:
      load.call = PublishLoad::Function{"test.ping", {}};
      break;
    case What::has_function:
      load.call = PublishLoad::Function{"sys.list_functions", {call.functions.front().name}};
      break;
    case What::find_job:
      load.call = PublishLoad::Function{"saltutil.find_job", {publication.jid}};
      break;
  }
  return load;
}

Result<master::Job> SaltMaster::publish_load_of(const Permit& permit, const Publication& publication) const {
  const auto load = load_for(permit, publication);
  if (!load) return load.error();
  const Lane lane = publication.what == What::find_job ? Lane::question : Lane::publish;
  return call(
      permit, lane, [&](const Caller& caller) { return publish_load(*load, caller); }, read_publish_reply);
}

Result<master::Job> SaltMaster::publish(const Permit& permit, const Publication& publication,
                                        std::shared_ptr<master::Returns> returns) {
  auto expectation = runtime_->bus().expect(permit.deadline());
  if (!expectation) return std::move(expectation).error();
  Result<master::Job> job = publish_load_of(permit, publication);
  if (!job || job->jid.empty()) return job;
  JobListener::Options options;
  options.whole_events = publication.what == What::call && permit.chunk().local().raw;
  options.has_function = publication.what == What::has_function;
  options.syndics = options_.order_masters;
  const auto listening =
      expectation->listen(job->jid, std::make_shared<JobListener>(returns, job->minions, options));
  if (!listening) return with_jid(listening.error(), job->jid);
  return job;
}

Result<master::Job> SaltMaster::publish_async(const Permit& permit) {
  return publish_load_of(permit, {});
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
  return call(
      permit, Lane::call, [&](const Caller& caller) { return runner_load(permit.chunk().master(), caller); },
      read_runner_reply);
}

Result<master::WheelReply> SaltMaster::wheel(const Permit& permit) {
  return call(
      permit, Lane::call, [&](const Caller& caller) { return wheel_load(permit.chunk().master(), caller); },
      read_wheel_reply);
}

/// As Salt's own client does, it answers at once with an id that it made itself; but its caller is logged in
/// by then.
Result<master::Started> SaltMaster::wheel_async(const Permit& permit) {
  const Credentials& credentials = permit.chunk().credentials;
  auto grant = login(credentials, permit.deadline());
  if (!grant) return std::move(grant).error();
  const Credentials token = *grant ? token_credentials(**grant) : Credentials();
  const std::string jid = runtime_->next_jid();
  const master::Started started{jid, format("salt/wheel/{}", jid)};
  auto room = runtime_->workers().reserve(1);
  if (!room) return std::move(room).error();
  auto message = std::make_shared<WipedBytes>(wheel_load(permit.chunk().master(),
                                                         {*grant ? &token : &credentials, permit.user()},
                                                         WheelJob{started.jid, started.tag, permit.user()}));
  room->submit([runtime = runtime_.get(), message, jid](const std::stop_token&) {
    const auto reply =
        runtime->requests().request(Lane::call, std::move(*message), system_clock().steady() + kPatience);
    const auto answer = reply ? read_wheel_reply({reply->data(), reply->size()})
                              : Result<Answer<master::WheelReply>>(reply.error());
    if (!answer) log::warning(format("wheel_async {}: {}", jid, answer.error().message));
    if (answer && answer->refusal) log::info(format("wheel_async {}: the master refused it", jid));
  });
  return started;
}

Result<Secret> SaltMaster::make_token(const Credentials& credentials) {
  auto grant = ask_for_grant(credentials, system_clock().steady() + kPatience);
  if (!grant) return std::move(grant).error();
  return std::move(grant->token);
}

Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::RemoteLogins> logins,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime) {
  return std::shared_ptr<master::Master>(
      std::make_shared<SaltMaster>(options, std::move(logins), std::move(permissions),
                                   std::static_pointer_cast<SaltRuntime>(std::move(runtime))));
}

}  // namespace rest_fcgi::salt
