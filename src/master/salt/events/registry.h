// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Waits for the events of one job. `on_event` and `on_loss` are called on one thread at a time, mostly that
/// of the bus, without a lock of the bus. They must be quick and throw nothing.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Returns whether the listener is still needed. Called on any thread, with the bus's lock held; must only
  /// return a value.
  [[nodiscard]] virtual bool is_needed() const = 0;
  virtual void on_event(const Topic& topic, std::string_view data) = 0;

  /// Events may be missing. Later events follow.
  virtual void on_loss(const Error& error) = 0;
};

/// Events of jobs without a listener, in order and limited in bytes, and the jobs that lost events because of
/// the limit. Not synchronized.
class EarlyEvents {
 public:
  struct Kept {
    std::uint64_t number;  ///< larger than those of earlier events
    std::string jid;
    std::string tag;
    std::string data;

    [[nodiscard]] std::size_t bytes() const noexcept;
  };

  explicit EarlyEvents(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  EarlyEvents(const EarlyEvents&) = delete;
  EarlyEvents& operator=(const EarlyEvents&) = delete;

  /// Adds an event. Returns how many old events, or the event itself, were dropped for it.
  std::size_t keep(Kept event);

  /// Returns whether an event of this job, from number `since` on, was dropped. Also true if that is unknown
  /// because very many jobs lost events.
  [[nodiscard]] bool has_lost(std::string_view jid, std::uint64_t since) const;

  /// Removes and returns the events of a job from number `since` on.
  [[nodiscard]] std::list<Kept> take(std::string_view jid, std::uint64_t since);

  /// Drops events with smaller numbers, which are not needed.
  void drop_before(std::uint64_t number);
  void clear();
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

 private:
  void note_loss(const Kept& event);
  void drop_oldest();

  const std::size_t max_bytes_;
  std::list<Kept> events_;
  std::multimap<std::pair<std::string_view, std::uint64_t>, std::list<Kept>::iterator>
      by_job_;  // key: job id, borrowed from events_, and number
  std::size_t bytes_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> losses_;  // number of the last dropped event of each job
  std::uint64_t all_lost_ = 0;  // events up to this number count as dropped, for every job
};

/// The listeners of jobs, the calls that expect a job, and whether the bus is joined. Thread-safe; events
/// come from one thread. No lock is held while a listener is called.
///
/// While there are expectations, events of jobs without a listener are kept. `listen` first passes the kept
/// events to the new listener until there are none, so that it gets all events in order.
class Registry {
 public:
  explicit Registry(const BusOptions& options);

  /// Called by the bus: when it was joined, when it was lost or could not be joined, for each event, and
  /// periodically.
  void joined();
  void not_joined(ErrorKind why);
  void on_event(const Event& event);
  void sweep();

  /// Refuses further expectations. Returns when no thread waits for the bus and all listeners were told about
  /// the loss.
  void close();

  /// Waits until the bus is joined or `until`. Errors: unavailable.
  [[nodiscard]] Result<void> wait_until_joined(SteadyTime until);

  /// While an Expectation exists, events of jobs without a listener are kept, since the first return of a job
  /// may come before the reply with its id. Moves only; used by one thread; the registry must outlive it.
  class Expectation {
   public:
    Expectation(Expectation&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), ticket_(std::move(other.ticket_)) {}
    Expectation& operator=(Expectation&&) = delete;
    ~Expectation() {
      if (registry_ != nullptr) registry_->forget(ticket_);
    }

    /// Passes the events of this job to `listener`, starting with those since this expectation was made. The
    /// listener is removed when it is no longer needed. If the bus was lost meanwhile, the listener is told
    /// at once. Errors: unavailable, if another listener has this job.
    Result<void> listen(std::string_view jid, std::shared_ptr<Listener> listener) {
      return registry_->listen(ticket_, jid, std::move(listener));
    }

   private:
    friend class Registry;
    struct Ticket {
      std::uint64_t number;  // of the first event that may be needed
      std::uint64_t losses;  // number of losses of the bus before
      std::string jid;       // that was claimed; empty: none
    };
    Expectation(Registry& registry, Ticket ticket) : registry_(&registry), ticket_(std::move(ticket)) {}
    Registry* registry_;
    Ticket ticket_;
  };

  /// Starts to keep events, and reserves a place for a listener. `jid`: the job id, if it is known. Errors:
  /// unavailable, if the bus is not joined, if there are too many listeners, or if another call has this job.
  [[nodiscard]] Result<Expectation> expect(std::string_view jid = {});

 private:
  using Ticket = Expectation::Ticket;
  struct Job {
    std::string jid;
    std::shared_ptr<Listener> listener;  // shared with its creator
    bool replaying = true;               // by the thread that called `listen`; guarded by mutex_

    [[nodiscard]] bool is_unneeded() const { return !replaying && !listener->is_needed(); }
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void forget(const Ticket& ticket);
  [[nodiscard]] Result<void> listen(Ticket ticket, std::string_view jid, std::shared_ptr<Listener> listener);
  void replay(Ticket ticket, Job& job, std::unique_lock<std::mutex>& lock);
  void keep(const Topic& topic, const Event& event, std::unique_lock<std::mutex>& lock);
  /// Removes jobs whose listeners are not needed. The caller destroys them without the lock.
  std::vector<JobPtr> take_unneeded();
  JobPtr take_unneeded(std::string_view jid);

  const std::size_t max_jobs_;
  const std::size_t max_early_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // joined_, closed_ or waiting_ changed
  std::unordered_map<std::string, JobPtr, Hash, std::equal_to<>>
      jobs_;                                    // guarded by mutex_, as are all members below
  std::set<std::string, std::less<>> claimed_;  // job ids that callers chose and that have no listener yet
  EarlyEvents early_;
  bool dropping_early_ = false;           // since early_ was empty
  std::set<std::uint64_t> expectations_;  // their numbers
  std::uint64_t next_number_ = 1;         // of the next event or expectation
  std::uint64_t losses_ = 0;              // how often the bus was lost
  bool joined_ = false;
  bool closed_ = false;
  std::size_t waiting_ = 0;                 // threads in `wait_until_joined`
  ErrorKind why_ = ErrorKind::unavailable;  // why it is not joined
};

}  // namespace rest_fcgi::salt
