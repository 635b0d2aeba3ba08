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

/// The job caches that get all jobs. A queue with its own thread makes calls for threads that must not wait,
/// such as the reader of the event bus. Only the first of successive failures is logged. Thread-safe.
class Caches {
 public:
  using Call = std::function<Result<void>(returner::Returner&)>;

  struct Limits {
    std::size_t calls = 16384;
    std::size_t bytes = 64 * 1024 * 1024;  ///< of the data of the calls
  };

  Caches(std::unique_ptr<returner::Returners> returners, Limits limits);

  /// Calls each job cache.
  void call(std::string_view jid, const Call& call);

  /// Queues a call of each job cache. The queue keeps the order. Beyond the limits a call is dropped.
  void call_later(std::string jid, std::size_t bytes, Call call);

  /// Waits until all earlier calls are saved. Errors: unavailable, also after `deadline`.
  [[nodiscard]] Result<void> flush(SteadyTime deadline);

 private:
  struct State;
  static constexpr std::size_t kFlushes = 64;  // places in the queue besides those for calls

  const Limits limits_;
  const std::shared_ptr<State> state_;  // shared with the calls, which may outlive this object
  master::Workers workers_;
};

/// Records one job, and passes its returns on to the caller. After a loss of the event bus it records later
/// returns; those of the time between are missed. The master's deliveries may come before the job is known;
/// they wait here. Thread-safe.
class RecordedJob final : public master::Addressee {
 public:
  /// `listener`: null if no caller waits. A caller that stops waiting releases it.
  RecordedJob(std::shared_ptr<Caches> caches, const std::shared_ptr<master::Addressee>& listener)
      : caches_(std::move(caches)), listener_(listener) {}

  /// Records a delivery, and passes it on.
  void put(master::Delivery delivery) override;

  /// Records the load of the published job, and the deliveries that came before.
  void begin(const returner::Load& load, returner::Durability durability);

  /// Returns whether all minions have returned.
  [[nodiscard]] bool done() const;

 private:
  void record(const master::Delivery& delivery);
  void record_return(const master::Return& ret);
  void record_more(const master::MoreMinions& more);

  const std::shared_ptr<Caches> caches_;
  const std::weak_ptr<master::Addressee> listener_;
  mutable std::mutex mutex_;                  // also keeps the records in order; guards the members below
  std::string jid_;                           // empty before `begin`
  std::vector<master::Delivery> early_;       // deliveries before `begin`
  std::unordered_set<std::string> expected_;  // minions that have not returned
  std::unordered_set<std::string> returned_;
};

/// The only Recorder. It keeps the addressees of running jobs alive, since a master delivers only to living
/// ones.
class JobRecorder final : public Recorder {
 public:
  JobRecorder(std::shared_ptr<Caches> caches, const Clock& clock, std::size_t max_jobs)
      : caches_(std::move(caches)), clock_(clock), max_jobs_(max_jobs) {}

  [[nodiscard]] const std::shared_ptr<Caches>& caches() const noexcept { return caches_; }

  /// Keeps a job until all its minions have returned, at most an hour. Beyond `max_jobs` the oldest job is
  /// dropped with a warning; its later returns are not recorded.
  void keep(std::shared_ptr<const RecordedJob> job);

  Result<void> flush(SteadyTime deadline) override { return caches_->flush(deadline); }

 private:
  struct Entry {
    SteadyTime until;
    std::shared_ptr<const RecordedJob> job;
  };

  /// Drops jobs that are done or too old.
  void sweep(SteadyTime now);

  const std::shared_ptr<Caches> caches_;
  const Clock& clock_;
  const std::size_t max_jobs_;
  std::mutex mutex_;
  std::deque<Entry> jobs_;      // oldest first; guarded by mutex_, as the members below
  std::size_t swept_size_ = 0;  // number of jobs after the last sweep
  bool has_warned_ = false;     // about a dropped job
};

}  // namespace rest_fcgi::recording
