// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/minion.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/runners/runners.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/workers.h"

/// How calls that were permitted are carried out.
namespace rest_fcgi::embedded {

class LocalJob;
class MasterJob;

/// Runs local calls that were permitted, on the minions that they mean. Thread-safe.
class Publisher {
 public:
  using Addressee = std::shared_ptr<master::Addressee>;

  /// `workers` has to outlive it.
  Publisher(std::shared_ptr<const Minions> minions, std::shared_ptr<const Modules> modules,
            std::shared_ptr<Jobs> jobs, master::Workers& workers)
      : minions_(std::move(minions)),
        modules_(std::move(modules)),
        jobs_(std::move(jobs)),
        workers_(workers) {}

  /// One publication of a call: which of it, for whom, and on whose behalf. Borrows.
  struct Order {
    const lowstate::LocalCall& call;
    std::string_view user;
    Selection selection;
    bool narrowed = false;      ///< the selection is only a part of what the call's target means
    std::string_view jid = {};  ///< the caller's own; empty: one is made
  };

  /// Quick functions have returned when this comes back: with the job, or to `returns` where all that they
  /// return is large; others return from worker threads. `returns`: null where nobody waits; then all
  /// functions run on worker threads, and return to the job cache alone.
  /// Errors: invocation for a jid that is taken, unavailable, internal.
  [[nodiscard]] Result<master::Job> run(const Order& order, const Addressee& returns);

  /// `true` from each minion.
  [[nodiscard]] master::Job ping(const Order& order);

  /// Whether each minion has all functions of the call.
  [[nodiscard]] master::Job has_function(const Order& order);

  /// What each minion runs of the job.
  [[nodiscard]] master::Job find_job(const Order& order, std::string_view jid);

 private:
  [[nodiscard]] Result<master::Job> run_here(const Order& order, master::Job job, const Addressee& returns);
  [[nodiscard]] Result<master::Job> run_on_workers(const Order& order,
                                                   Result<std::shared_ptr<LocalJob>> local, master::Job job,
                                                   const Addressee& returns);
  [[nodiscard]] master::Job job_for(const Order& order) const;
  [[nodiscard]] Result<returner::Load> take_jid(const Order& order, master::Job& job);
  template <class ReturnOf>
  [[nodiscard]] master::Job answer(const Order& order, const ReturnOf& return_of);

  const std::shared_ptr<const Minions> minions_;
  const std::shared_ptr<const Modules> modules_;
  const std::shared_ptr<Jobs> jobs_;
  master::Workers& workers_;
};

/// Waits before an asynchronous job runs where events have listeners: a browser hands a reply to its page in
/// several steps, and a return that comes on another connection at once would overtake it. The minions of a
/// Salt master take longer than that.
inline void give_head_start(const Jobs& jobs, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kHeadStart{100};
  if (jobs.announcer().wanted()) static_cast<void>(pause(kHeadStart, stop));
}

/// Returns a gate that calls `begin` once, when its last copy is destroyed. `begin` throws nothing but for
/// want of memory, which ends the process: the job is kept, and its returns are recorded as lost.
template <class Begin>
[[nodiscard]] master::StartGate run_when_destroyed(Begin begin) {
  struct Gate {
    explicit Gate(Begin its_begin) : begin(std::move(its_begin)) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { begin(); }
    Begin begin;
  };
  return std::make_shared<const Gate>(std::move(begin));
}

/// Runs runners and wheels that were permitted. Thread-safe.
class MasterCaller {
 public:
  using Mailbox = std::shared_ptr<master::RunnerReturns>;

  /// One call of a runner or wheel, with arguments of its own.
  struct Order {
    auth::Form form = auth::Form::runner;
    std::string_view name;
    std::string_view user;
    std::shared_ptr<const lowstate::MasterArguments> arguments;
  };

  /// `workers` has to outlive it.
  MasterCaller(std::shared_ptr<const MasterFacts> facts, std::shared_ptr<Jobs> jobs, master::Workers& workers)
      : facts_(std::move(facts)), jobs_(std::move(jobs)), workers_(workers) {}

  /// A quick runner has returned when this comes back; others return from a worker thread, and to the job
  /// cache, too, since their caller may have gone by then. `returns`: null where nobody waits; then all
  /// functions run on a worker thread, wheels too, and return to the job cache alone. Errors: unavailable,
  /// internal.
  [[nodiscard]] Result<master::Started> run(const Order& order, const Mailbox& returns);

  /// Runs a wheel to its end.
  [[nodiscard]] master::WheelReply wheel(const Order& order);

 private:
  [[nodiscard]] Result<master::Started> run_on_worker(std::shared_ptr<MasterJob> job, const Mailbox& returns);

  const std::shared_ptr<const MasterFacts> facts_;
  const std::shared_ptr<Jobs> jobs_;
  master::Workers& workers_;
};

}  // namespace rest_fcgi::embedded
