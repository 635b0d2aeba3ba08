// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/master/job_observer.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::engine {

/// Counts jobs and returns. Metrics and labels have the names of kpetremann/salt-exporter, so that dashboards
/// for salt-exporter work. Thread-safe.
class SaltMetrics : public master::JobObserver {
 public:
  /// Adds the metrics to `registry`. REQUIRES: `Registry::text` is not called after this object is destroyed.
  SaltMetrics(std::shared_ptr<metrics::Registry> registry, const Clock& clock);

  void job_new(std::string_view fun, std::size_t minions) override { job_new(fun, "", minions); }
  void returned(std::string_view minion, std::string_view fun, bool success) override;
  void minion_start(std::string_view minion) override;
  void minion_gone(std::string_view minion) override;

  /// Counts an event of a real master, if the event is about a job, return or minion.
  void on_event(std::string_view tag, const JsonValue& data);

 private:
  void job_new(std::string_view fun, std::string_view state, std::size_t minions);
  void add_minion(std::string_view minion);
  void on_return(std::string_view minion, std::string_view fun, const JsonValue& data);

  const std::shared_ptr<metrics::Registry> registry_;
  const Clock& clock_;
  metrics::Family<metrics::Counter>& new_jobs_;
  metrics::Family<metrics::Counter>& expected_;
  metrics::Family<metrics::Counter>& function_responses_;
  metrics::Family<metrics::Counter>& scheduled_;
  metrics::Family<metrics::Counter>& responses_;
  metrics::Family<metrics::Gauge>& status_;
  metrics::Family<metrics::Gauge>& heartbeats_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> minions_;  // ids of the known minions; guarded by mutex_
};

/// Reads all events of a real master and counts them. It has its own thread.
class EventCounter {
 public:
  EventCounter(std::shared_ptr<master::Master> master, std::shared_ptr<SaltMetrics> metrics);
  ~EventCounter();
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;

 private:
  void run();
  /// Reads events until an error, or until the EventCounter is destroyed.
  void read(master::EventReader& reader);

  /// The state that wakes the thread. The event log shares it, because the log may still call `wake` after
  /// the EventCounter is destroyed.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_events = false;   // guarded by mutex
    bool is_stopping = false;  // guarded by mutex
  };

  const std::shared_ptr<master::Master> master_;
  const std::shared_ptr<SaltMetrics> metrics_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  Thread thread_;  // destroyed first, so that the thread ends before the other members
};

}  // namespace rest_fcgi::engine
