// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "master/salt/events/bus_options.h"
#include "master/salt/events/early_events.h"
#include "master/salt/events/event.h"
#include "master/salt/events/listener.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Who listens to which job, who expects one, and whether the bus is joined. Thread-safe; what comes from the
/// bus comes from one thread. No lock is held while a listener works.
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

  /// No expectation is made any more. Comes back when nobody waits for one, and all listeners were told that
  /// the bus is lost.
  void close();

  /// An expectation, as it is known here.
  struct Ticket {
    std::uint64_t number;  // of the first event that it may want
    std::uint64_t join;    // the bus was lost since, where it is not the latest any more
  };
  /// Waits until then for the bus to be joined. Errors: unavailable.
  [[nodiscard]] Result<Ticket> expect(SteadyTime until);
  void forget(const Ticket& ticket);

  /// See EventBus::Expectation::listen.
  [[nodiscard]] Result<void> listen(const Ticket& ticket, std::string_view jid,
                                    std::shared_ptr<Listener> listener);

 private:
  struct Job {
    std::string jid;
    std::shared_ptr<Listener> listener;  // shared with who made it
    bool replaying = true;               // on the thread that called `listen`; guarded by mutex_
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Jobs = std::unordered_map<std::string, std::shared_ptr<Job>, Hash, std::equal_to<>>;

  void replay(const Ticket& ticket, Job& job, std::unique_lock<std::mutex>& lock);
  void keep(const Topic& topic, const Event& event, std::unique_lock<std::mutex>& lock);
  void drop_if_unwanted(const std::shared_ptr<Job>& job);
  /// Drops who is not wanted any more where a new listener to that job finds no place.
  void make_room(std::string_view jid);
  [[nodiscard]] bool is_good(const Ticket& ticket) const { return joined_ && ticket.join == joins_; }

  const std::size_t max_jobs_;
  const std::size_t max_early_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // joined_, closed_ or waiting_
  Jobs jobs_;                        // guarded by mutex_, as all that follows
  EarlyEvents early_;
  bool dropping_early_ = false;           // since early_ was empty
  std::set<std::uint64_t> expectations_;  // their numbers
  std::uint64_t next_number_ = 1;         // of an event or expectation
  std::uint64_t joins_ = 0;
  bool joined_ = false;
  bool closed_ = false;
  std::size_t waiting_ = 0;                 // threads in `expect`
  ErrorKind why_ = ErrorKind::unavailable;  // it is not joined
};

}  // namespace rest_fcgi::salt
