// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/master/workers.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::recording {

/// The job caches that get all jobs. A thread that must not block queues its calls, and another thread runs
/// them. Logs only the first of successive failures. Thread-safe.
class Caches {
 public:
  using Call = std::function<Result<void>(returner::Returner&)>;
  using What = returner::WriteCounts::What;

  struct Limits {
    std::size_t calls = 16384;
    std::size_t bytes = 64 * 1024 * 1024;  ///< The largest size in bytes of the data of all queued calls.
  };

  Caches(std::unique_ptr<returner::Returners> returners, Limits limits);

  /// Calls the function `call`, which saves a job's load, once for each job cache.
  void call(std::string_view jid, const Call& call);

  /// Queues `call`, which another thread then calls once for each job cache. Queued functions are called in
  /// order. `bytes` is the size of the data that `call` saves. If the Limits leave no place in the queue,
  /// drops `call`.
  void call_later(std::string jid, std::size_t bytes, Call call);

  /// Waits until the job caches have saved all earlier calls. Fails with `unavailable` after an error, or if
  /// the calls are not saved before `deadline`.
  Result<void> flush(SteadyTime deadline);

  [[nodiscard]] const returner::WriteCounts& writes() const;

 private:
  struct State;
  static constexpr std::size_t kFlushes = 64;  // The number of places in the queue that only `flush` uses.

  const Limits limits_;
  const std::shared_ptr<State> state_;  // The queued calls share the state and may outlive the Caches.
  master::Workers workers_;
};

/// Records one job and passes its returns on to the caller. Does not get the returns that minions send while
/// the event bus is lost. Thread-safe.
class RecordedJob final : public master::Addressee {
 public:
  /// `listener` is the addressee of the caller, or null. The RecordedJob holds a weak pointer, so that the
  /// caller may destroy `listener`.
  RecordedJob(std::shared_ptr<Caches> caches, const std::shared_ptr<master::Addressee>& listener)
      : caches_(std::move(caches)), listener_(listener) {}

  void put(master::Delivery delivery) override;

  void begin(const returner::Load& load, returner::Durability durability);

  [[nodiscard]] bool done() const;

 private:
  void record(const master::Delivery& delivery) REQUIRES(mutex_);

  const std::shared_ptr<Caches> caches_;
  const std::weak_ptr<master::Addressee> listener_;
  // A thread holds `mutex_` while it records a delivery, so that deliveries are recorded in order.
  mutable Mutex mutex_;
  std::string jid_ GUARDED_BY(mutex_);  // `jid_` is empty before `begin`.
  // `early_` has the deliveries that arrived before `begin`.
  std::vector<master::Delivery> early_ GUARDED_BY(mutex_);
  // `expected_` has the minions that have not returned.
  std::unordered_set<std::string> expected_ GUARDED_BY(mutex_);
  std::unordered_set<std::string> returned_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::recording
