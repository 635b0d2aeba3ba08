// SPDX-License-Identifier: MIT
#pragma once

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

namespace rest_fcgi::embedded {

class LocalJob;
class MasterJob;

class LocalCaller {
 public:
  using Addressee = std::shared_ptr<master::Addressee>;

  /// A call of functions on minions. Borrows all members except `selection`.
  struct Request {
    const lowstate::LocalCall& call;
    std::string_view user;
    Selection selection;
    /// Whether `selection` has only some of the minions that the call's target matches. The job's target is
    /// then the list of the selected ids.
    bool is_narrowed = false;
    std::string_view jid = {};       ///< The jid that the caller chose, or empty.
    std::string_view prepared = {};  ///< The new jid of `Master::prepare`, or empty.
  };

  LocalCaller(std::shared_ptr<const Minions> minions, std::shared_ptr<const Modules> modules,
              std::shared_ptr<Jobs> jobs, master::Workers& workers)
      : minions_(std::move(minions)),
        modules_(std::move(modules)),
        jobs_(std::move(jobs)),
        workers_(workers) {}

  /// Runs the functions of the call. If all functions are quick and `returns` is not null, this thread runs
  /// them. The Job then has about the first 1 MiB of their returns, and `returns` gets the rest. Otherwise
  /// worker threads run the functions, and `returns` gets all returns. If `returns` is null, only the job
  /// cache gets the returns. Fails with `invocation` if the chosen jid is not accepted, with `unavailable`,
  /// or with `internal`.
  Result<master::Job> run(const Request& request, const Addressee& returns);

  /// Answers a Publication such as a ping, without running a function. Saves nothing in the job cache.
  [[nodiscard]] master::Job answer(const Request& request, const master::Publication& publication);

 private:
  Result<master::Job> run_here(const Request& request, master::Job job, const Addressee& returns);
  Result<master::Job> run_on_workers(const Request& request, master::Job job, const Addressee& returns);
  [[nodiscard]] master::Job make_job(const Request& request) const;
  Result<returner::Load> make_load(const Request& request, master::Job& job);

  const std::shared_ptr<const Minions> minions_;
  const std::shared_ptr<const Modules> modules_;
  const std::shared_ptr<Jobs> jobs_;
  master::Workers& workers_;
};

class MasterCaller {
 public:
  using Mailbox = std::shared_ptr<master::RunnerReturns>;

  struct Request {
    auth::Form form = auth::Form::runner;
    std::string_view name;
    std::string_view user;
    std::shared_ptr<const lowstate::MasterArguments> arguments;
    std::string_view prepared = {};  ///< The new jid of `Master::prepare`, or empty.
  };

  MasterCaller(std::shared_ptr<const MasterData> data, std::shared_ptr<Jobs> jobs, master::Workers& workers)
      : data_(std::move(data)), jobs_(std::move(jobs)), workers_(workers) {}

  /// Runs a runner or wheel. This thread runs a quick function, and a worker thread runs any other function.
  /// If `returns` is null, a worker thread runs every function, and only the job cache gets the return. Fails
  /// with `unavailable` or `internal`.
  Result<master::Started> run(const Request& request, const Mailbox& returns);

  [[nodiscard]] master::WheelReply wheel(const Request& request);

 private:
  Result<master::Started> run_on_worker(const std::shared_ptr<MasterJob>& job, const Mailbox& returns);

  const std::shared_ptr<const MasterData> data_;
  const std::shared_ptr<Jobs> jobs_;
  master::Workers& workers_;
};

/// Delays an asynchronous job if events have listeners, so that the caller gets the reply before a listener
/// gets the job's first event.
inline void delay_for_listeners(const Jobs& jobs, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kDelay{100};
  if (jobs.announcer().has_listeners()) static_cast<void>(pause(kDelay, stop));
}

/// If the caller waits for the job (`is_awaited`), calls `begin` and returns null. Otherwise returns an
/// object that calls `begin` when its last copy is destroyed.
template <class Begin>
[[nodiscard]] master::StartGate start_or_gate(bool is_awaited, Begin begin) {
  struct Gate {
    explicit Gate(Begin its_begin) : begin(std::move(its_begin)) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { begin(); }
    Begin begin;
  };
  if (!is_awaited) return std::make_shared<const Gate>(std::move(begin));
  begin();
  return nullptr;
}

}  // namespace rest_fcgi::embedded
