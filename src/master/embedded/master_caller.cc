// SPDX-License-Identifier: MIT
#include <exception>
#include <optional>
#include <stop_token>
#include <string>

#include "master/embedded/calls.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/jid.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::embedded {

/// One call of a runner or wheel under way. Immutable once its jid is set; then it may be shared by threads.
class MasterJob {
 public:
  /// What became of it.
  struct Outcome {
    Json ret;
    bool success = true;
    /// The job cache could not be asked: whoever waits gets this error, in place of a return.
    std::optional<Error> unavailable{};
  };

  MasterJob(const MasterCaller::Order& order, WallTime now)
      : form_(order.form),
        name_(order.name),
        user_(order.user),
        started_(now),
        function_(form_ == auth::Form::runner ? find_runner(name_) : find_wheel(name_)),
        arguments_(order.arguments) {}

  void set_jid(std::string jid) { jid_ = std::move(jid); }
  [[nodiscard]] const std::string& jid() const noexcept { return jid_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  /// `salt/run/<jid>` or `salt/wheel/<jid>`.
  [[nodiscard]] std::string tag() const { return format("salt/{}/{}", is_runner() ? "run" : "wheel", jid_); }

  /// May a request's own thread run it? True for a function that does not exist: saying so is quick.
  [[nodiscard]] bool quick() const noexcept { return function_ == nullptr || function_->quick; }

  /// The job as the job cache keeps it: a master's own minion runs it.
  [[nodiscard]] returner::Load load(const std::string& master_id) const {
    returner::Load load;
    load.jid = jid_;
    load.fun = Json::string(format("{}.{}", word(), name_));
    load.arg = arguments_->json();
    load.tgt = Json::string(master_id);
    load.tgt_type = lowstate::name_of(lowstate::TargetType::list);
    load.user = user_;
    load.minions = {master_id};
    return load;
  }

  /// Runs the function. What goes wrong is an outcome without success, in a sentence; so is an exception,
  /// since a job that lost its return would be waited for in vain.
  [[nodiscard]] Outcome run(const MasterFacts& facts, Jobs& jobs, const std::stop_token& stop) const try {
    if (function_ == nullptr) return {Json::string(format("'{}' is not available.", name_)), false};
    const Result<BoundArguments> bound = function_->bind(*arguments_);
    if (!bound) return invalid_arguments(bound.error().message);
    Result<Json> ret = function_->run(
        {*facts.minions, *facts.modules, facts.config_values, *facts.keys, jobs, stop}, *bound);
    if (ret) return {*std::move(ret), true};
    Outcome failed = exception(ret.error().message);
    if (ret.error().kind == ErrorKind::unavailable) failed.unavailable = std::move(ret).error();
    return failed;
  } catch (const std::exception& thrown) {
    return exception(thrown.what());
  }

  void announce_start(const Jobs& jobs, Kept kept) const {
    if (jobs.announcer().wanted()) jobs.announcer().master_new(load(jobs.master_id()), kept);
  }

  void announce_end(const Jobs& jobs, const Outcome& outcome, Kept kept) const {
    if (!jobs.announcer().wanted()) return;
    const bool hidden = outcome.success && function_ != nullptr && function_->secret;
    jobs.announcer().master_ret(load(jobs.master_id()), hidden ? Json::string(master::kHidden) : outcome.ret,
                                outcome.success, kept);
  }

  /// Salt's event about the return.
  [[nodiscard]] Json event(const Outcome& outcome) const {
    return written_object([&](JsonWriter& writer) {
      writer.key("fun").string(format("{}.{}", word(), name_)).key("jid").string(jid_);
      if (!is_runner()) writer.key("tag").string(tag());
      writer.key("user").string(user_);
      if (is_runner()) writer.key("fun_args").json(arguments_->json());
      writer.key("_stamp").string(master::iso_stamp(started_)).key("return").json(outcome.ret);
      writer.key("success").boolean(outcome.success);
    });
  }

  /// What whoever waits gets.
  [[nodiscard]] Result<master::RunnerReturn> reply(Outcome outcome, Json event) const {
    if (!outcome.unavailable) return master::RunnerReturn{std::move(outcome.ret), std::move(event)};
    return master::with_jid(*std::move(outcome.unavailable), jid_);
  }

 private:
  [[nodiscard]] bool is_runner() const noexcept { return form_ == auth::Form::runner; }
  [[nodiscard]] std::string_view word() const noexcept { return is_runner() ? "runner" : "wheel"; }
  [[nodiscard]] Outcome exception(std::string_view what) const {
    return {Json::string(format("Exception occurred in {} {}: {}", word(), name_, what)), false};
  }
  [[nodiscard]] Outcome invalid_arguments(const std::string& complaint) const {
    const std::string sentence = format("Passed invalid arguments: {}", complaint);
    if (!is_runner()) return {Json::string(sentence), false};
    // To Salt, a runner that could not be called has succeeded.
    return {Json::string(format("\n{}\n\nUsage:\n{}", sentence, function_->usage)), true};
  }

  const auth::Form form_;
  const std::string name_;
  const std::string user_;
  const WallTime started_;
  const MasterFunction* const function_;  // null: no such function
  const std::shared_ptr<const lowstate::MasterArguments> arguments_;
  std::string jid_;
};

namespace {

/// Hands on the return of a job on a worker thread: to the job cache first, then to who waits.
void deliver(Jobs& jobs, const MasterJob& job, MasterJob::Outcome outcome,
             const MasterCaller::Mailbox& returns) {
  Json event = job.event(outcome);
  jobs.record(job.jid(), {jobs.master_id(), event, outcome.success ? 0 : 1, outcome.success, ""},
              jobs.also_for({}));
  job.announce_end(jobs, outcome, Kept::yes);
  if (returns) returns->put(job.reply(std::move(outcome), std::move(event)));
}

}  // namespace

Result<master::Started> MasterCaller::run(const Order& order, const Mailbox& returns) {
  auto job = std::make_shared<MasterJob>(order, jobs_->clock().wall());
  if (!returns || !job->quick()) return run_on_worker(std::move(job), returns);
  job->set_jid(jobs_->new_jid());
  job->announce_start(*jobs_, Kept::no);
  MasterJob::Outcome outcome = job->run(*facts_, *jobs_, {});
  job->announce_end(*jobs_, outcome, Kept::no);
  Json event = job->event(outcome);
  returns->put(job->reply(std::move(outcome), std::move(event)));
  return master::Started{job->jid(), job->tag()};
}

master::WheelReply MasterCaller::wheel(const Order& order) {
  MasterJob job(order, jobs_->clock().wall());
  job.set_jid(jobs_->new_jid());
  job.announce_start(*jobs_, Kept::no);
  const MasterJob::Outcome outcome = job.run(*facts_, *jobs_, {});
  job.announce_end(*jobs_, outcome, Kept::no);
  const Json event = job.event(outcome);
  return {job.jid(), written_object([&](JsonWriter& writer) {
            writer.key("tag").string(job.tag()).key("data").json(event);
          })};
}

Result<master::Started> MasterCaller::run_on_worker(std::shared_ptr<MasterJob> job, const Mailbox& returns) {
  Result<master::Workers::Reservation> room = workers_.reserve(job->user(), 1);
  if (!room) return std::move(room).error();
  job->set_jid(jobs_->new_jid());
  returner::Load load = job->load(jobs_->master_id());
  master::Started started{job->jid(), job->tag()};

  const std::shared_ptr<const MasterJob> shared = std::move(job);
  // Jobs holds the RunningJob, which holds this function: a shared_ptr to Jobs in it would be a cycle.
  auto interrupt = [shared, returns, owner = jobs_.get()](const returner::Load&, std::size_t) {
    log::warning(format("{} was interrupted: the engine shuts down", shared->tag()));
    deliver(*owner, *shared, {Json::string(kInterrupted), false}, returns);
  };
  const auto running = std::make_shared<RunningJob>(std::move(load), "", std::move(interrupt));
  const auto durability = returns ? returner::Durability::committed : returner::Durability::durable;
  if (Result<void> kept = jobs_->start(running, durability, jobs_->also_for({})); !kept) {
    return std::move(kept).error();
  }
  auto task = [facts = facts_, jobs = jobs_, shared, returns, running](const std::stop_token& stop) {
    const std::stop_callback when_all_stop(stop, [&running] { running->stop(0); });
    if (!returns) give_head_start(*jobs, stop);
    MasterJob::Outcome outcome = shared->run(*facts, *jobs, running->stop_token(0));
    if (!running->claim(0)) return;
    deliver(*jobs, *shared, std::move(outcome), returns);
    jobs->finish(*running, 0);
  };
  auto begin = [jobs = jobs_, running, room = *std::move(room), task = std::move(task)]() mutable {
    jobs->announce(running->load(), {});
    room.submit(std::move(task));
  };
  if (returns) {
    begin();
  } else {
    started.gate = run_when_destroyed(std::move(begin));
  }
  return started;
}

}  // namespace rest_fcgi::embedded
