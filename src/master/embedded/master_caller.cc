// SPDX-License-Identifier: MIT
#include "master/embedded/master_caller.h"

#include <exception>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

Result<master::RunnerReturn> told(const MasterJob& job, MasterJob::Outcome outcome, Json event) {
  if (!outcome.unavailable) return master::RunnerReturn{std::move(outcome.ret), std::move(event)};
  Error error = *std::move(outcome.unavailable);
  error.jid = job.jid();
  return error;
}

/// Where the return of a job on a worker thread goes: the job cache first, then who waits.
void deliver(Jobs& jobs, const MasterJob& job, MasterJob::Outcome outcome,
             const MasterCaller::Mailbox& returns) {
  Json event = job.event(outcome);
  jobs.record(job.jid(), {jobs.master_id(), event, outcome.success ? 0 : 1, outcome.success, ""},
              jobs.also_for({}));
  if (returns) returns->put(told(job, std::move(outcome), std::move(event)));
}

/// A job that lost its return would be waited for in vain.
MasterJob::Outcome run_safely(const MasterJob& job, const MasterFacts& facts, Jobs& jobs,
                              const std::stop_token& stop) {
  try {
    return job.run(facts, jobs, stop);
  } catch (const std::exception& exception) {
    return {Json::string(format("Exception occurred in {}: {}", job.tag(), exception.what())), false};
  }
}

}  // namespace

Result<master::Started> MasterCaller::runner(const lowstate::Function& call, std::string_view user,
                                             const Mailbox& returns) {
  Jobs& jobs = *runtime_->jobs();
  Result<std::shared_ptr<MasterJob>> made =
      MasterJob::make(MasterJob::Form::runner, call, user, jobs.clock().wall());
  if (!made) return std::move(made).error();
  MasterJob& job = **made;
  if (!job.quick()) return run_on_worker(*std::move(made), returns);
  job.set_jid(jobs.new_jid());
  MasterJob::Outcome outcome = job.run(*facts_, jobs, {});
  Json event = job.event(outcome);
  returns->put(told(job, std::move(outcome), std::move(event)));
  return master::Started{job.jid(), job.tag()};
}

Result<master::Started> MasterCaller::start(MasterJob::Form form, const lowstate::Function& call,
                                            std::string_view user) {
  Result<std::shared_ptr<MasterJob>> job =
      MasterJob::make(form, call, user, runtime_->jobs()->clock().wall());
  if (!job) return std::move(job).error();
  return run_on_worker(*std::move(job), nullptr);
}

Result<master::WheelReply> MasterCaller::wheel(const lowstate::Function& call, std::string_view user) {
  Jobs& jobs = *runtime_->jobs();
  Result<std::shared_ptr<MasterJob>> made =
      MasterJob::make(MasterJob::Form::wheel, call, user, jobs.clock().wall());
  if (!made) return std::move(made).error();
  MasterJob& job = **made;
  job.set_jid(jobs.new_jid());
  const Json event = job.event(job.run(*facts_, jobs, {}));
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("tag").string(job.tag()).key("data").json(event).end_object();
  return master::WheelReply{job.jid(), Json::trusted(std::move(text))};
}

Result<master::Started> MasterCaller::run_on_worker(std::shared_ptr<MasterJob> job, const Mailbox& returns) {
  const std::shared_ptr<Jobs>& jobs = runtime_->jobs();
  Result<master::Workers::Reservation> room = runtime_->workers().reserve(1);
  if (!room) return std::move(room).error();
  returner::Load load = job->load(jobs->master_id());
  load.jid = jobs->new_jid();
  job->set_jid(load.jid);
  master::Started started{job->jid(), job->tag()};

  const std::shared_ptr<const MasterJob> shared = std::move(job);
  // The table that interrupts is the Jobs' own: a shared_ptr here would keep it alive for ever.
  auto interrupt = [shared, returns, owner = jobs.get()](std::size_t) {
    log::warning(format("{} was interrupted: the engine shuts down", shared->tag()));
    deliver(*owner, *shared, {Json::string(kInterrupted), false}, returns);
  };
  const auto running = std::make_shared<RunningJob>(std::move(load), "", std::move(interrupt));
  const auto durability = returns ? returner::Durability::grouped : returner::Durability::durable;
  if (Result<void> kept = jobs->start(running, durability, jobs->also_for({})); !kept) {
    return std::move(kept).error();
  }
  room->submit([facts = facts_, jobs, shared, returns, running](const std::stop_token& stop) {
    const std::stop_callback when_all_stop(stop, [&running] { running->stop(0); });
    MasterJob::Outcome outcome = run_safely(*shared, *facts, *jobs, running->stop_token(0));
    if (!running->claim(0)) return;
    deliver(*jobs, *shared, std::move(outcome), returns);
    jobs->finish(*running, 0);
  });
  return started;
}

}  // namespace rest_fcgi::embedded
