// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/recording/recording.h"
#include "rest_fcgi/master/workers.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::recording {

/// The job caches that get all jobs. Threads that must not wait for them, above all the one that hears all
/// events, leave calls in a queue, which has a thread of its own. Of failures that follow each other the
/// first stands in the log. Thread-safe.
class Caches {
 public:
  using Call = std::function<Result<void>(returner::Returner&)>;

  struct Limits {
    std::size_t calls = 16384;
    std::size_t bytes = 64 * 1024 * 1024;  ///< of what the calls hold
  };

  Caches(std::unique_ptr<returner::Returners> returners, Limits limits);

  /// Calls each of them, now.
  void tell(std::string_view jid, const Call& call);

  /// Calls each of them, soon, in the order in which calls come here. Beyond the limits a call is dropped.
  void tell_soon(std::string jid, std::size_t bytes, Call call);

  /// All that was told before is where the job caches keep it. Errors: unavailable, also where that takes
  /// longer.
  [[nodiscard]] Result<void> flush(SteadyTime deadline);

 private:
  struct State;
  /// That many may wait at a time, also where calls fill the queue.
  static constexpr std::size_t kFlushes = 64;

  const Limits limits_;
  const std::shared_ptr<State> state_;  // shared with the calls, of which one may outlive this object
  master::Workers workers_;
};

/// One job on its way into the job caches, and on to who waits for it. After a loss of the event bus it goes
/// on to record what comes then; only what minions returned meanwhile is missed. Hears the master's
/// deliveries from any thread, also before it is known which job they belong to: those wait here.
/// Thread-safe.
class RecordedJob final : public master::Addressee {
 public:
  /// `listener` may be null: nobody waits. Whoever waits no more has let go of it.
  RecordedJob(std::shared_ptr<Caches> caches, const std::shared_ptr<master::Addressee>& listener)
      : caches_(std::move(caches)), listener_(listener) {}

  /// Records it, and hands it on.
  void put(master::Delivery delivery) override;

  /// The job was published: keeps its load, and then what came before.
  void begin(const returner::Load& load, returner::Durability durability);

  /// Nothing more is expected: all have returned.
  [[nodiscard]] bool done() const;

 private:
  void record(const master::Delivery& delivery);
  void record_return(const master::Return& ret);
  void record_more(const master::MoreMinions& more);

  const std::shared_ptr<Caches> caches_;
  const std::weak_ptr<master::Addressee> listener_;
  mutable std::mutex mutex_;                  // also keeps what is recorded in the order in which it came
  std::string jid_;                           // empty before `begin`; guarded by mutex_, as all that follows
  std::vector<master::Delivery> early_;       // came before `begin`
  std::unordered_set<std::string> expected_;  // minions that have not returned
  std::unordered_set<std::string> returned_;
};

/// The Recorder that `make_recorder` makes. It holds what hears of a job, since a master tells only of jobs
/// whose addressee somebody holds.
class JobRecorder final : public Recorder {
 public:
  JobRecorder(std::shared_ptr<Caches> caches, const Clock& clock, std::size_t max_jobs)
      : caches_(std::move(caches)), clock_(clock), max_jobs_(max_jobs) {}

  [[nodiscard]] const std::shared_ptr<Caches>& caches() const noexcept { return caches_; }

  /// Holds it until all minions have returned, at most an hour. Beyond the number of jobs that may be held
  /// the oldest is let go: returns that it still gets are not recorded, and the log says so.
  void hold(std::shared_ptr<const RecordedJob> job);

  Result<void> flush(SteadyTime deadline) override { return caches_->flush(deadline); }

 private:
  struct Held {
    SteadyTime until;
    std::shared_ptr<const RecordedJob> job;
  };

  /// Lets go of what is done or too old.
  void sweep(SteadyTime now);

  const std::shared_ptr<Caches> caches_;
  const Clock& clock_;
  const std::size_t max_jobs_;
  std::mutex mutex_;
  std::deque<Held> held_;     // oldest first; guarded by mutex_, as all that follows
  std::size_t swept_at_ = 0;  // the number of jobs that a look at all of them left
  bool told_ = false;         // of a job that was let go
};

}  // namespace rest_fcgi::recording
