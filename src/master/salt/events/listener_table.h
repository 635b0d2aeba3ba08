// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// The interface of an object that receives the events of one job. One thread at a time calls `on_event` and
/// `on_loss`. This thread holds no lock of the bus. These two functions must be quick and must not throw.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Returns whether the listener is still needed. Any thread may call this function while it holds a lock of
  /// the bus. The function must therefore not wait and must not take a lock.
  [[nodiscard]] virtual bool is_needed() const = 0;
  virtual void on_event(const Topic& topic, std::string_view data) = 0;

  /// Handles a loss of events of the job. The listener may still get later events.
  virtual void on_loss(const Error& error) = 0;
};

/// Keeps the events of jobs without a listener, in their order and up to a limit in bytes. Not synchronized.
class EarlyEvents {
 public:
  struct Kept {
    std::uint64_t number;
    std::string jid;
    std::string tag;
    std::string data;

    [[nodiscard]] std::size_t bytes() const noexcept;
  };

  explicit EarlyEvents(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  EarlyEvents(const EarlyEvents&) = delete;
  EarlyEvents& operator=(const EarlyEvents&) = delete;

  /// Adds an event, and drops the oldest events above the limit. Returns the number of dropped events, which
  /// may include the new event.
  std::size_t keep(Kept event);

  /// Returns whether events of the job were dropped whose numbers are `since` or higher. After losses of very
  /// many jobs, may return true for any job, because the losses of single jobs are then not known.
  [[nodiscard]] bool has_lost(std::string_view jid, std::uint64_t since) const;

  /// Removes and returns the events of the job whose numbers are `since` or higher.
  [[nodiscard]] std::list<Kept> take(std::string_view jid, std::uint64_t since);

  void drop_before(std::uint64_t number);
  void clear();
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

 private:
  void note_loss(const Kept& event);
  void drop_oldest();

  const std::size_t max_bytes_;
  std::list<Kept> events_;
  std::multimap<std::pair<std::string_view, std::uint64_t>, std::list<Kept>::iterator>
      by_job_;  // The key is the job id and the event number. Borrows the job ids from `events_`.
  std::size_t bytes_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> losses_;
  // Events up to the number `all_lost_` count as dropped for every job. If too many jobs lose events,
  // `note_loss` raises this number and discards the losses of single jobs.
  std::uint64_t all_lost_ = 0;
};

/// The listeners of jobs, and the Expectations of callers that wait for a job id. No lock is held while a
/// listener is called. Thread-safe, but only one thread may pass events to the ListenerTable.
class ListenerTable {
 public:
  explicit ListenerTable(const BusOptions& options);

  void joined();
  void not_joined(ErrorKind why);
  void on_event(const Event& event);
  void sweep();

  /// Refuses threads and listeners that want to wait for events. Returns when no thread waits for the bus and
  /// all listeners were told that the bus is lost.
  void close();

  /// Waits until this process has joined the event bus, at most until the time `until`. Fails with
  /// `unavailable`.
  Result<void> wait_until_joined(SteadyTime until);

  /// While an Expectation exists, the registry keeps events of jobs without a listener. These events are
  /// needed, because a return may come before the reply with the job id. Used by one thread. The registry
  /// must outlive the Expectation.
  class Expectation {
   public:
    Expectation(Expectation&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), ticket_(std::move(other.ticket_)) {}
    Expectation& operator=(Expectation&&) = delete;
    ~Expectation() {
      if (registry_ != nullptr) registry_->forget(ticket_);
    }

    /// Passes the job's events since the start of the Expectation to `listener`, until the listener is no
    /// longer needed. If the bus was lost since the start of the Expectation, reports this loss immediately.
    /// Fails with `unavailable` if the job has another listener.
    Result<void> listen(std::string_view jid, std::shared_ptr<Listener> listener) {
      return registry_->listen(ticket_, jid, std::move(listener));
    }

   private:
    friend class ListenerTable;
    struct Ticket {
      std::uint64_t number;  // `number` is the number of the first event that the caller may need.
      std::uint64_t losses;  // `losses` is the value of `losses_` when the Expectation was made.
      std::string jid;       // `jid` is the job id that the caller chose, or empty.
    };
    Expectation(ListenerTable& registry, Ticket ticket) : registry_(&registry), ticket_(std::move(ticket)) {}
    ListenerTable* registry_;
    Ticket ticket_;
  };

  /// Makes an Expectation: begins to keep events for the caller's job, and reserves a place for its listener.
  /// `jid` is empty if the job id is unknown. Fails with `unavailable` in three cases: this process has not
  /// joined the event bus, too many listeners exist, or another call uses `jid`.
  Result<Expectation> expect(std::string_view jid = {});

 private:
  using Ticket = Expectation::Ticket;
  struct Job {
    std::string jid;
    std::shared_ptr<Listener> listener;
    // Whether `replay` still passes kept events to the listener. `mutex_` guards it.
    bool replaying = true;

    [[nodiscard]] bool is_unneeded() const { return !replaying && !listener->is_needed(); }
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void forget(const Ticket& ticket);
  Result<void> listen(Ticket ticket, std::string_view jid, std::shared_ptr<Listener> listener);
  void replay(Ticket ticket, Job& job, MutexLock& lock) REQUIRES(mutex_) NOT_ANALYZED;
  void keep(const Topic& topic, const Event& event, MutexLock& lock) REQUIRES(mutex_) NOT_ANALYZED;
  /// Removes the jobs whose listeners are not needed. The caller must release the lock before it destroys the
  /// returned jobs.
  std::vector<JobPtr> take_unneeded() REQUIRES(mutex_);
  JobPtr take_unneeded(std::string_view jid) REQUIRES(mutex_);

  const std::size_t max_jobs_;
  const std::size_t max_early_bytes_;
  mutable Mutex mutex_;
  std::condition_variable changed_;  // `changed_` reports changes of `joined_`, `closed_` and `waiting_`.
  std::unordered_map<std::string, JobPtr, Hash, std::equal_to<>> jobs_ GUARDED_BY(mutex_);
  // `claimed_` has the job ids that callers chose for jobs that have no listener yet.
  std::set<std::string, std::less<>> claimed_ GUARDED_BY(mutex_);
  EarlyEvents early_ GUARDED_BY(mutex_);
  // `dropping_early_` says that events were dropped after `early_` was last empty.
  bool dropping_early_ GUARDED_BY(mutex_) = false;
  std::set<std::uint64_t> expectations_ GUARDED_BY(mutex_);
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 1;
  // `losses_` counts how often the connection to the bus was lost.
  std::uint64_t losses_ GUARDED_BY(mutex_) = 0;
  bool joined_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;
  // `why_` says why this process has not joined the event bus.
  ErrorKind why_ GUARDED_BY(mutex_) = ErrorKind::unavailable;
};

}  // namespace rest_fcgi::salt
