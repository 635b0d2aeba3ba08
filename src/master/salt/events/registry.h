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

/// Who waits for the events of one job. `hear` and `lost` are called on one thread at a time, mostly the
/// bus's own, and are quick: while they work, nobody else's events are read. They throw nothing, and hold no
/// lock of the bus, so that they may call it.
class Listener {
 public:
  virtual ~Listener() = default;

  /// False once nobody waits any more: then it is dropped. Called on any thread, also while it hears, and
  /// with the bus's lock held: it only looks.
  [[nodiscard]] virtual bool wanted() const = 0;
  virtual void hear(const Topic& topic, std::string_view data) = 0;

  /// Events may have been missed. It hears what comes after that, as long as it is wanted.
  virtual void lost(const Error& error) = 0;
};

/// The events of jobs that nobody listens to yet, in the order in which they came, within a limit of bytes,
/// and which jobs that has cost events. Not synchronized.
class EarlyEvents {
 public:
  struct Kept {
    std::uint64_t number;  ///< larger than that of each event before
    std::string jid;
    std::string tag;
    std::string data;

    [[nodiscard]] std::size_t bytes() const noexcept;
  };

  explicit EarlyEvents(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  EarlyEvents(const EarlyEvents&) = delete;
  EarlyEvents& operator=(const EarlyEvents&) = delete;

  /// Says how many had to go for it, the oldest first; it is among them where it is too large itself.
  std::size_t keep(Kept event);

  /// Has an event of this job, from number `since` on, had to go? Also true where that is not known any more,
  /// since very many jobs have lost some.
  [[nodiscard]] bool lost(std::string_view jid, std::uint64_t since) const;

  /// Takes the events of a job from number `since` on; looks at no others.
  [[nodiscard]] std::list<Kept> take(std::string_view jid, std::uint64_t since);

  /// Nobody will ask for what has a smaller number.
  void drop_before(std::uint64_t number);
  void clear();
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

 private:
  void note_loss(const Kept& event);
  void drop_oldest();

  const std::size_t max_bytes_;
  std::list<Kept> events_;
  std::multimap<std::pair<std::string_view, std::uint64_t>, std::list<Kept>::iterator>
      by_job_;  // by job and number; borrows the ids from events_
  std::size_t bytes_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> losses_;  // by job, the latest number
  std::uint64_t all_lost_ = 0;  // as if each job had lost the event with this number
};

/// Who listens to which job, who expects one, and whether the bus is joined. Thread-safe; what comes from the
/// bus comes from one thread. No lock is held while a listener hears.
///
/// An event of a job that nobody listens to, or whose listener is still being told of earlier ones, is kept
/// while there are expectations. So a listener hears all in order: `listen` tells it what was kept until
/// nothing is, and only then leaves it to the bus's thread.
class Registry {
 public:
  explicit Registry(const BusOptions& options);

  /// From the bus: it was joined; it could not be, or not any more; an event came; some time went by.
  void joined();
  void not_joined(ErrorKind why);
  void hear(const Event& event);
  void sweep();

  /// No expectation is made any more. Comes back when nobody waits for the bus, and all listeners were told
  /// that it is lost.
  void close();

  /// Waits until then for the bus to be joined. Errors: unavailable.
  [[nodiscard]] Result<void> wait_until_joined(SteadyTime until);

  /// While one of these lives, returns of jobs that nobody listens to are kept: a job's id is known only from
  /// the reply to its publication, which its first return may overtake. Moves; used by one thread; outlived
  /// by the registry.
  class Expectation {
   public:
    Expectation(Expectation&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), ticket_(std::move(other.ticket_)) {}
    Expectation& operator=(Expectation&&) = delete;
    ~Expectation() {
      if (registry_ != nullptr) registry_->forget(ticket_);
    }

    /// From now on `listener` hears what comes of this job, beginning with what came since this expectation
    /// was made. It is dropped when it is not `wanted` any more. Where the bus was lost meanwhile, it is told
    /// so at once. Errors: unavailable, where another one listens to this job.
    Result<void> listen(std::string_view jid, std::shared_ptr<Listener> listener) {
      return registry_->listen(ticket_, jid, std::move(listener));
    }

   private:
    friend class Registry;
    struct Ticket {
      std::uint64_t number;  // of the first event that it may want
      std::uint64_t losses;  // of the bus, before it
      std::string jid;       // that was claimed with it; empty: none
    };
    Expectation(Registry& registry, Ticket ticket) : registry_(&registry), ticket_(std::move(ticket)) {}
    Registry* registry_;
    Ticket ticket_;
  };

  /// From now on events are kept, and there is a place for a listener: for one to the job `jid`, where the
  /// caller knows that already. Errors: unavailable, where the bus is not joined, where there is no place, or
  /// where another call has that job.
  [[nodiscard]] Result<Expectation> expect(std::string_view jid = {});

 private:
  using Ticket = Expectation::Ticket;
  struct Job {
    std::string jid;
    std::shared_ptr<Listener> listener;  // shared with who made it
    bool replaying = true;               // on the thread that called `listen`; guarded by mutex_

    [[nodiscard]] bool unwanted() const { return !replaying && !listener->wanted(); }
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void forget(const Ticket& ticket);
  [[nodiscard]] Result<void> listen(Ticket ticket, std::string_view jid, std::shared_ptr<Listener> listener);
  void replay(Ticket ticket, Job& job, std::unique_lock<std::mutex>& lock);
  void keep(const Topic& topic, const Event& event, std::unique_lock<std::mutex>& lock);
  /// Takes jobs whose listeners are not wanted any more out: to be destroyed without the lock.
  std::vector<JobPtr> take_unwanted();
  JobPtr take_unwanted(std::string_view jid);

  const std::size_t max_jobs_;
  const std::size_t max_early_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // joined_, closed_ or waiting_
  std::unordered_map<std::string, JobPtr, Hash, std::equal_to<>>
      jobs_;                                    // guarded by mutex_, as all that follows
  std::set<std::string, std::less<>> claimed_;  // jids that callers have chosen and not listened to yet
  EarlyEvents early_;
  bool dropping_early_ = false;           // since early_ was empty
  std::set<std::uint64_t> expectations_;  // their numbers
  std::uint64_t next_number_ = 1;         // of an event or expectation
  std::uint64_t losses_ = 0;              // how often the bus was lost
  bool joined_ = false;
  bool closed_ = false;
  std::size_t waiting_ = 0;                 // threads in `wait_until_joined`
  ErrorKind why_ = ErrorKind::unavailable;  // it is not joined
};

}  // namespace rest_fcgi::salt
