// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/master/job_observer.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::engine {

/// Counts jobs and returns, with the metric names of kpetremann/salt-exporter. Thread-safe.
class SaltMetrics : public master::JobObserver {
 public:
  /// Adds the metrics to `registry`. REQUIRES: `Registry::text` is not called after the destructor.
  /// With `ignores_tests`, events of a real master about calls with `test=True` or `mock=True` do not count.
  SaltMetrics(std::shared_ptr<metrics::Registry> registry, const Clock& clock, bool ignores_tests = false);

  void job_new(std::string_view fun, std::size_t minions) override;
  void returned(std::string_view minion, std::string_view fun, bool success) override;
  void minion_start(std::string_view minion) override;
  void minion_gone(std::string_view minion) override;

  /// Adds a minion that has sent nothing so far. Its first heartbeat is now, as in salt-exporter, so that an
  /// alert finds a minion that stays silent. Does nothing for a known minion.
  void add_minion(std::string_view minion);

  /// Counts an event of a real master about a job, a return or a minion.
  void on_event(std::string_view tag, const JsonValue& data);

 private:
  void job_new(std::string_view fun, std::string_view state, std::size_t minions);
  void on_return(std::string_view minion, const JsonValue& data);
  void heard_of(std::string_view minion);
  /// Returns the time in seconds since 1970.
  [[nodiscard]] double now() const;

  const std::shared_ptr<metrics::Registry> registry_;
  const Clock& clock_;
  const bool ignores_tests_;
  metrics::Family<metrics::Counter>& new_jobs_;
  metrics::Family<metrics::Counter>& expected_;
  metrics::Family<metrics::Counter>& function_responses_;
  metrics::Family<metrics::Counter>& scheduled_;
  metrics::Family<metrics::Counter>& responses_;
  metrics::Family<metrics::Gauge>& status_;
  metrics::Family<metrics::Gauge>& heartbeats_;
  metrics::Family<metrics::Gauge>& last_responses_;
  metrics::Family<metrics::Gauge>& durations_;
  Mutex mutex_;
  std::set<std::string, std::less<>> minions_ GUARDED_BY(mutex_);
};

/// Reads and counts all events of a real master, on its own thread.
class EventCounter {
 public:
  EventCounter(std::shared_ptr<master::Master> master, std::shared_ptr<SaltMetrics> metrics);
  ~EventCounter();
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;

 private:
  void run();
  void read(master::EventReader& reader);

  /// The event log shares the Signal, because the log may outlive the EventCounter.
  struct Signal {
    Mutex mutex;
    std::condition_variable changed;
    bool has_events GUARDED_BY(mutex) = false;
    bool is_stopping GUARDED_BY(mutex) = false;
  };

  const std::shared_ptr<master::Master> master_;
  const std::shared_ptr<SaltMetrics> metrics_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  Thread thread_;  // This member is destroyed first, so the thread ends before the other members.
};

}  // namespace rest_fcgi::engine
