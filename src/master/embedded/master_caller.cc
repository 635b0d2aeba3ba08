// SPDX-License-Identifier: MIT
#include <exception>

#include "master/embedded/calls.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::embedded {

/// A call of a runner or wheel. Immutable after its jid is set; thread-safe.
class MasterJob {
 public:
  struct Outcome {
    Json ret;
    bool success = true;
    /// The error if the job cache could not be read. A waiting caller gets this error instead of the return.
    std::optional<Error> unavailable{};
  };

  MasterJob(const MasterCaller::Request& request, Jobs& jobs)
      : jobs_(jobs),
        form_(request.form),
        name_(request.name),
        user_(request.user),
        started_(jobs.clock().wall()),
        function_(form_ == auth::Form::runner ? find_runner(name_) : find_wheel(name_)),
        arguments_(request.arguments),
        jid_(request.prepared) {}

  void make_jid() {
    if (jid_.empty()) jid_ = jobs_.new_jid();
  }
  [[nodiscard]] const std::string& jid() const noexcept { return jid_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  [[nodiscard]] std::string tag() const { return format("salt/{}/{}", is_runner() ? "run" : "wheel", jid_); }

  /// Returns whether the request's own thread may run the function. An unknown function counts as quick,
  /// because it is refused at once.
  [[nodiscard]] bool is_quick() const noexcept { return function_ == nullptr || function_->is_quick; }

  [[nodiscard]] returner::Load load() const {
    returner::Load load;
    load.jid = jid_;
    load.fun = Json::string(full_name());
    load.arg = arguments_->json();
    load.tgt = Json::string(jobs_.master_id());
    load.tgt_type = lowstate::name_of(lowstate::TargetType::list);
    load.user = user_;
    load.minions = {jobs_.master_id()};
    return load;
  }

  /// If the function fails or throws, the outcome is not a success and has the error's text.
  Outcome run(const MasterData& data, const std::stop_token& stop) const try {
    if (function_ == nullptr) return {Json::string(format("'{}' is not available.", name_)), false};
    const Result<BoundArguments> bound = function_->bind(*arguments_);
    if (!bound) return invalid_arguments(bound.error().message);
    Result<Json> ret = function_->run({data, jobs_, stop}, *bound);
    if (ret) return {*std::move(ret), true};
    Outcome failed = exception(ret.error().message);
    if (ret.error().kind == ErrorKind::unavailable) failed.unavailable = std::move(ret).error();
    return failed;
  } catch (const std::exception& thrown) {
    return exception(thrown.what());
  }

  void announce_start() const {
    if (jobs_.announcer().has_listeners()) jobs_.announcer().master_new(load(), InJobCache::no);
  }

  void announce_end(const Outcome& outcome, InJobCache in_job_cache) const {
    if (!jobs_.announcer().has_listeners()) return;
    const bool is_hidden = outcome.success && function_ != nullptr && function_->is_secret;
    jobs_.announcer().master_ret(load(), is_hidden ? Json::string(master::kHidden) : outcome.ret,
                                 outcome.success, in_job_cache);
  }

  [[nodiscard]] Json event(const Outcome& outcome) const {
    return written_object([&](JsonWriter& writer) {
      writer.key("fun").string(full_name()).key("jid").string(jid_);
      if (!is_runner()) writer.key("tag").string(tag());
      writer.key("user").string(user_);
      if (is_runner()) writer.key("fun_args").json(arguments_->json());
      writer.key("_stamp").string(iso_stamp(started_)).key("return").json(outcome.ret);
      writer.key("success").boolean(outcome.success);
    });
  }

  Result<master::RunnerReturn> reply(Outcome outcome, Json event) const {
    if (!outcome.unavailable) return master::RunnerReturn{std::move(outcome.ret), std::move(event)};
    return master::with_jid(*std::move(outcome.unavailable), jid_);
  }

  void deliver(Outcome outcome, const MasterCaller::Mailbox& returns) const {
    Json data = event(outcome);
    jobs_.save_return(jid_, {jobs_.master_id(), data, outcome.success ? 0 : 1, outcome.success, ""},
                      jobs_.extra_returners({}));
    announce_end(outcome, InJobCache::yes);
    if (returns) returns->put(reply(std::move(outcome), std::move(data)));
  }

 private:
  [[nodiscard]] bool is_runner() const noexcept { return form_ == auth::Form::runner; }
  [[nodiscard]] std::string_view word() const noexcept { return is_runner() ? "runner" : "wheel"; }
  [[nodiscard]] std::string full_name() const { return format("{}.{}", word(), name_); }
  Outcome exception(std::string_view what) const {
    return {Json::string(format("Exception occurred in {} {}: {}", word(), name_, what)), false};
  }
  Outcome invalid_arguments(const std::string& complaint) const {
    const std::string sentence = format("Passed invalid arguments: {}", complaint);
    if (!is_runner()) return {Json::string(sentence), false};
    // Salt counts a runner as successful even if its arguments were wrong.
    return {Json::string(format("\n{}\n\nUsage:\n{}", sentence, function_->usage)), true};
  }

  Jobs& jobs_;
  const auth::Form form_;
  const std::string name_;
  const std::string user_;
  const WallTime started_;
  const MasterFunction* const function_;  // `function_` is null for an unknown function.
  const std::shared_ptr<const lowstate::MasterArguments> arguments_;
  std::string jid_;
};

Result<master::Started> MasterCaller::run(const Request& request, const Mailbox& returns) {
  auto job = std::make_shared<MasterJob>(request, *jobs_);
  if (!returns || !job->is_quick()) return run_on_worker(job, returns);
  job->make_jid();
  job->announce_start();
  MasterJob::Outcome outcome = job->run(*data_, {});
  job->announce_end(outcome, InJobCache::no);
  Json event = job->event(outcome);
  returns->put(job->reply(std::move(outcome), std::move(event)));
  return master::Started{job->jid(), job->tag()};
}

master::WheelReply MasterCaller::wheel(const Request& request) {
  MasterJob job(request, *jobs_);
  job.make_jid();
  job.announce_start();
  const MasterJob::Outcome outcome = job.run(*data_, {});
  job.announce_end(outcome, InJobCache::no);
  const Json event = job.event(outcome);
  return {job.jid(), written_object([&](JsonWriter& writer) {
            writer.key("tag").string(job.tag()).key("data").json(event);
          })};
}

Result<master::Started> MasterCaller::run_on_worker(const std::shared_ptr<MasterJob>& job,
                                                    const Mailbox& returns) {
  Result<master::Workers::Reservation> reservation = workers_.reserve(job->user(), 1);
  if (!reservation) return std::move(reservation).error();
  job->make_jid();
  master::Started started{job->jid(), job->tag()};
  auto interrupt = [job, returns](const returner::Load&, std::size_t) {
    log::warning(format("{} was interrupted: the engine shuts down", job->tag()));
    job->deliver({Json::string(kInterrupted), false}, nullptr);
    if (returns) returns->put(Error{ErrorKind::unavailable, std::string(kInterrupted)});
  };
  const auto running = std::make_shared<RunningJob>(job->load(), "", std::move(interrupt));
  const auto durability = returns ? returner::Durability::committed : returner::Durability::durable;
  if (Result<void> saved = jobs_->start(running, durability, jobs_->extra_returners({})); !saved) {
    return std::move(saved).error();
  }
  auto task = [data = data_, jobs = jobs_, job, returns, running](const std::stop_token& stop) {
    const std::stop_callback when_all_stop(stop, [&running] { running->stop(0); });
    if (!returns) delay_for_listeners(*jobs, stop);
    MasterJob::Outcome outcome = job->run(*data, running->stop_token(0));
    if (!running->claim(0)) return;
    job->deliver(std::move(outcome), returns);
    jobs->finish(*running, 0);
  };
  started.gate = start_or_gate(returns != nullptr, [jobs = jobs_, running, room = *std::move(reservation),
                                                    task = std::move(task)]() mutable {
    jobs->announce(running->load(), {});
    room.submit(std::move(task));
  });
  return started;
}

}  // namespace rest_fcgi::embedded
