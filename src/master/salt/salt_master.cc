// SPDX-License-Identifier: MIT
#include "master/salt/salt_master.h"

#include <chrono>
#include <utility>

#include "master/salt/calls/messages.h"
#include "master/salt/events/event_bus.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/master/events.h"

namespace rest_fcgi::salt {
namespace {

using master::Permit;
using master::Publication;
using master::still_runs;
using master::with_jid;
using What = Publication::What;

constexpr std::chrono::minutes kWheelAsync{10};

/// The time in which most runners start. If a runner does not start in this time, `wait_until_started` asks
/// the master whether the runner exists.
constexpr std::chrono::milliseconds kUsualStartTime{300};

/// The largest number of remembered runners. Masters have fewer runners, but callers can invent names.
constexpr std::size_t kMaxKnownRunners = 4096;

/// Returns whether the master may have executed the load, although no valid reply came.
bool may_have_run(const Error& error) {
  return error.kind == ErrorKind::unavailable || error.kind == ErrorKind::timeout ||
         error.kind == ErrorKind::internal;
}

/// Returns the function that the minions run for `what`. REQUIRES: `what` is not `Publication::call`.
std::string_view function_of(What what) {
  switch (what) {
    case What::ping:
      return "test.ping";
    case What::has_function:
      return "sys.list_functions";
    case What::find_job:
      return "saltutil.find_job";
    case What::call:
      break;
  }
  return {};
}

/// Returns the load that publishes the Publication. The load borrows from the chunk. Fails with the errors of
/// `Nodegroups::expand`.
Result<PublishLoad> load_of(const master::Permit& permit, const Publication& publication,
                            const Options& options, const Nodegroups& nodegroups) {
  const lowstate::LocalCall& call = permit.chunk().local();
  PublishLoad load;
  if (publication.only) {
    load.target = {lowstate::TargetType::list, *publication.only, ":"};
  } else {
    auto target = nodegroups.expand(call.target);
    if (!target) return std::move(target).error();
    load.target = *std::move(target);
  }
  if (options.order_masters) {
    load.to = std::chrono::ceil<std::chrono::seconds>(call.timeout.value_or(options.timeout));
  }
  switch (publication.what) {
    case What::call:
      load.call = &call;
      load.ret = format("{}{}{}", call.ret, call.ret.empty() || options.ext_job_cache.empty() ? "" : ",",
                        options.ext_job_cache);
      load.metadata = call.metadata;
      load.jid = call.jid;
      break;
    case What::ping:
      load.call = PublishLoad::Function{function_of(publication.what), {}};
      break;
    case What::has_function:
      load.call = PublishLoad::Function{function_of(publication.what), {call.functions.front().name}};
      break;
    case What::find_job:
      load.call = PublishLoad::Function{function_of(publication.what), {publication.jid}};
      break;
  }
  return load;
}

PublishedCall published_call(const Permit& permit, const Publication& publication) {
  if (publication.what != What::call) return {{std::string(function_of(publication.what))}, permit.user()};
  PublishedCall call{{}, permit.user()};
  for (const auto& function : permit.chunk().local().functions) call.functions.emplace_back(function.name);
  return call;
}

void send_wheel(RequestPool& requests, const std::string& load, const std::string& jid) {
  const auto reply =
      requests.request(PriorityClass::wheel_async, load, system_clock().steady() + kWheelAsync);
  if (!reply) return log::warning(format("wheel_async {}: {}", jid, reply.error().message));
  const auto answer = read_wheel_reply(*reply);
  if (answer) return;
  log::warning(format("wheel_async {}: {}{}", jid,
                      is_refusal(answer.error()) ? "the master refused it: " : "", answer.error().message));
}

Result<EventBus*> joined_bus(Runtime& runtime, SteadyTime deadline) {
  auto bus = runtime.bus();
  if (!bus) return bus;
  if (auto joined = (*bus)->wait_until_joined(deadline); !joined) return std::move(joined).error();
  return bus;
}

/// Returns a function that MasterClient calls before it sends a load. The function prepares the bus for the
/// events of the load's job. Borrows the arguments.
MasterClient::Before expecting(EventBus& bus, std::string_view jid,
                               std::optional<EventBus::Expectation>& made) {
  return [&bus, jid, &made]() -> Result<void> {
    // MasterClient calls this function again if it sends the load a second time. The Expectation from the
    // first call is then still valid.
    if (made) return {};
    auto expectation = bus.expect(jid);
    if (!expectation) return std::move(expectation).error();
    made.emplace(*std::move(expectation));
    return {};
  };
}

}  // namespace

SaltMaster::SaltMaster(const Options& options, std::unique_ptr<auth::Logins> logins,
                       std::unique_ptr<auth::Permissions> permissions, std::shared_ptr<Runtime> runtime)
    : options_(options),
      nodegroups_(options.nodegroups),
      client_(options.inline_login, std::move(logins), runtime->requests()),
      permissions_(std::move(permissions)),
      ssh_(options.ssh, options.conf_file),
      runtime_(std::move(runtime)) {}

Result<master::Job> SaltMaster::send(const Permit& permit, const Publication& publication,
                                     const MasterClient::Before& before) const {
  auto load = load_of(permit, publication, options_, nodegroups_);
  if (!load) return std::move(load).error();
  // With a job id of this program, the caller can find the job even if the master's reply is lost.
  const bool may_choose_jid = publication.what == What::call && is_surely_allowed(permit);
  std::string jid(load->jid);
  if (jid.empty() && may_choose_jid) jid = jid_of(permit);
  load->jid = jid;
  bool is_sent = false;
  Result<master::Job> job = client_.call(
      permit, publication.what == What::find_job ? kQuestion : kPublish,
      [&](const Caller& caller) { return pack_publish(*load, caller); }, read_publish_reply, before,
      &is_sent);
  if (job || !is_sent || !may_have_run(job.error())) return job;
  return with_jid(std::move(job).error(), jid);
}

Result<master::Job> SaltMaster::publish(const Permit& permit, const Publication& publication,
                                        std::shared_ptr<master::Addressee> returns) {
  const auto bus = joined_bus(*runtime_, permit.deadline());
  if (!bus) return bus.error();
  const std::string_view jid =
      publication.what == What::call ? permit.chunk().local().jid : std::string_view();
  std::optional<EventBus::Expectation> expectation;
  Result<master::Job> job = send(permit, publication, expecting(**bus, jid, expectation));
  if (!job || job->jid.empty()) return job;
  JobListener::Options options;
  options.whole_events = publication.what == What::call && permit.chunk().local().raw;
  options.has_function = publication.what == What::has_function;
  options.syndics = options_.order_masters;
  const auto listening = expectation->listen(
      job->jid,
      std::make_shared<JobListener>(returns, job->minions, published_call(permit, publication), options));
  if (!listening) return still_runs(listening.error(), job->jid);
  return job;
}

Result<master::Job> SaltMaster::publish_async(const Permit& permit) {
  return send(permit, {}, {});
}

Result<master::Started> SaltMaster::runner(const Permit& permit,
                                           std::shared_ptr<master::RunnerReturns> returns) {
  auto run = start(permit, permit.chunk().master(), returns);
  if (!run) return std::move(run).error();
  if (Result<void> begun = wait_until_started(permit, *run->listener); !begun) {
    return with_jid(std::move(begun).error(), run->started.jid);
  }
  return std::move(run->started);
}

Result<SaltMaster::StartedRunner> SaltMaster::start(const Permit& permit, const lowstate::MasterCall& call,
                                                    const std::shared_ptr<master::RunnerReturns>& returns) {
  const auto bus = joined_bus(*runtime_, permit.deadline());
  if (!bus) return bus.error();
  std::optional<EventBus::Expectation> expectation;
  Result<master::Started> started = send_runner(permit, call, expecting(**bus, {}, expectation));
  if (!started) return std::move(started).error();
  auto listener = std::make_shared<RunnerListener>(returns, call.full_return);
  const auto listening = expectation->listen(started->jid, listener);
  if (!listening) return still_runs(listening.error(), started->jid);
  return StartedRunner{std::move(listener), *std::move(started)};
}

Result<master::Started> SaltMaster::send_runner(const Permit& permit, const lowstate::MasterCall& call,
                                                const MasterClient::Before& before) const {
  return client_.call(
      permit, kRunner, [&](const Caller& caller) { return runner_load(call, caller); }, read_runner_reply,
      before);
}

/// Waits until a runner has started. In Salt 3008, an unknown runner sends no events. The function does not
/// wait for a runner that has started before, because such a runner is known to exist. If any other runner
/// does not start soon, asks the master for the names of its runners, with the caller's credentials. If the
/// caller has no permission to ask, waits longer.
Result<void> SaltMaster::wait_until_started(const Permit& permit, RunnerListener& listener) {
  using Seen = RunnerListener::Seen;
  const std::string_view runner = permit.chunk().master().function.name;
  {
    const MutexLock lock(mutex_);
    if (known_runners_.count(runner) > 0) return {};
  }
  const SteadyTime since = system_clock().steady();
  const auto wait = [&](std::chrono::milliseconds time) {
    return listener.wait_until(std::min(permit.deadline(), since + time));
  };
  Seen seen = wait(std::min(kUsualStartTime, options_.runner_start_time));
  std::optional<bool> there;
  if (seen == Seen::nothing) there = has_runner(permit.ending_by(since + options_.runner_start_time), runner);
  if (seen == Seen::nothing) seen = wait(there ? std::chrono::milliseconds(0) : options_.runner_start_time);
  if (seen == Seen::begun || there == true) {
    const MutexLock lock(mutex_);
    if (known_runners_.size() < kMaxKnownRunners) known_runners_.emplace(runner);
    return {};
  }
  if (seen == Seen::ended) return {};
  if (there == false) return Error{ErrorKind::unknown_runner, format("'{}' is not available.", runner)};
  // At the deadline, this function returns without an error, because its caller reports the timeout.
  if (system_clock().steady() >= permit.deadline()) return {};
  return Error{
      ErrorKind::timeout,
      format("The Salt Master did not start the runner '{}' within {} seconds; the runner may not exist.",
             runner, std::chrono::duration<double>(options_.runner_start_time).count())};
}

/// Asks the master whether it has the runner. Returns std::nullopt if the master's reply does not show
/// whether the runner exists, for example because the caller has no permission for `doc.runner`. If the
/// password is sent with each call (inline_login), returns std::nullopt without asking, because a refusal
/// would count as a failed login.
std::optional<bool> SaltMaster::has_runner(const Permit& permit, std::string_view runner) {
  const bool by_token = permit.chunk().credentials.kind == auth::Credentials::Kind::token;
  if (options_.inline_login && !by_token) return std::nullopt;
  lowstate::MasterCall call;
  call.function.name = "doc.runner";
  const auto returns = std::make_shared<master::RunnerReturns>();
  const auto run = start(permit, call, returns);
  if (!run) return std::nullopt;
  const auto taken = returns->take(permit.deadline());
  JsonDocument document;
  if (!taken || !*taken || !document.parse((*taken)->ret.text(), JsonLimits::none())) return std::nullopt;
  if (document.root().kind() != JsonValue::Kind::object) return std::nullopt;
  return document.root().find(runner).has_value();
}

Result<master::Started> SaltMaster::runner_async(const Permit& permit) {
  return send_runner(permit, permit.chunk().master(), {});
}

Result<master::WheelReply> SaltMaster::wheel(const Permit& permit) {
  return client_.call(
      permit, kWheel,
      [&](const Caller& caller) -> Result<std::string> {
        return wheel_load(permit.chunk().master(), caller);
      },
      read_wheel_reply);
}

/// Starts a wheel after the login, and returns before the wheel has ended. Makes the job id, as Salt's client
/// does.
Result<master::Started> SaltMaster::wheel_async(const Permit& permit) {
  const auth::Credentials& credentials = permit.chunk().credentials;
  const auto grant = client_.confirmed_login(credentials, permit.deadline());
  if (!grant) return grant.error();
  const bool goes_inline = !*grant || (credentials.kind == auth::Credentials::Kind::eauth &&
                                       is_token_without_permissions(**grant));
  const auth::Credentials token = goes_inline ? auth::Credentials() : token_of(**grant);
  const std::string jid = jid_of(permit);
  master::Started started{jid, format("salt/wheel/{}", jid)};
  started.is_accepted = false;
  auto slot = runtime_->workers().reserve(permit.user(), 1);
  if (!slot) return std::move(slot).error();
  const Caller caller{goes_inline ? &credentials : &token, permit.user()};
  slot->submit([requests = runtime_->requests(), load = wheel_load(permit.chunk().master(), caller, &started),
                jid](const std::stop_token&) { send_wheel(*requests, load, jid); });
  return started;
}

Result<master::SshReply> SaltMaster::ssh(const Permit& permit, std::size_t max_bytes) {
  std::string jid = jid_of(permit);
  auto reply = ssh_.run(permit.chunk().local(), jid, permit.deadline(), max_bytes, runtime_->stop_token());
  if (!reply) return with_jid(std::move(reply).error(), jid);
  return master::SshReply{std::move(jid), *std::move(reply)};
}

Result<std::unique_ptr<master::EventReader>> SaltMaster::events(const master::EventPermit& permit,
                                                                std::string_view after) {
  auto bus = runtime_->bus();
  if (!bus) return std::move(bus).error();
  // Makes the reader before the check. If the bus is lost after the check, the reader then reports this loss.
  auto reader = runtime_->events()->reader(permit, after);
  if (!reader) return reader;
  if (auto joined = (*bus)->wait_until_joined(SteadyTime::max()); !joined) return std::move(joined).error();
  return reader;
}

Result<std::shared_ptr<master::Master>> make_master(const Options& options,
                                                    std::unique_ptr<auth::Logins> logins,
                                                    std::unique_ptr<auth::Permissions> permissions,
                                                    std::shared_ptr<Runtime> runtime) {
  return std::shared_ptr<master::Master>(
      std::make_shared<SaltMaster>(options, std::move(logins), std::move(permissions), std::move(runtime)));
}

}  // namespace rest_fcgi::salt
