// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// The cost of a request for the master, which limits how many requests of a class run at once. The master
/// distributes requests round robin, so slow ones must never occupy all workers.
enum class PriorityClass {
  publish,      ///< some milliseconds
  question,     ///< `saltutil.find_job`: a publish with low priority
  runner,       ///< starts a process: about ten milliseconds
  wheel,        ///< runs in the worker until its end
  wheel_async,  ///< the same, without a waiting caller
  login,        ///< a wrong password blocks a worker for a second
  token,        ///< some milliseconds, but anyone can send invented tokens
};
inline constexpr std::size_t kPriorityClasses = 7;

/// A request's class and the client's address; empty for requests of our own.
struct Request {
  Request(PriorityClass its_priority, std::string_view its_remote = {})
      : priority(its_priority), remote(its_remote) {}
  PriorityClass priority;
  std::string_view remote;
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< the master's `ret_port`
  std::size_t connections = 16;              ///< maximum number of connections
  std::size_t worker_threads = 5;            ///< Salt's option: the master's worker processes
  std::size_t max_waiting = 1024;       ///< threads that may wait for a connection; beyond it: unavailable
  std::size_t max_waiting_logins = 64;  ///< of these for logins, and for tokens, which anyone can send
  std::size_t max_answer_size = std::size_t{256} << 20;  ///< bytes; a larger reply closes the connection
  std::chrono::milliseconds connect_timeout{4000};       ///< a refused connection is noticed at once
  /// A request, apart from logins, that takes this long has stalled: its worker is busy or has died, or it is
  /// a slow wheel. It continues, but others no longer wait for it, see `FairQueue::stall`.
  std::chrono::milliseconds slow_after{2000};
};

/// Returns how many requests of a class may run at once, at least 1.
std::size_t class_limit(PriorityClass priority, const PoolOptions& options);

/// Returns how many logins and wheels may run together. They leave one of the master's workers free, if it
/// has more than one.
std::size_t slow_limit(const PoolOptions& options);

/// Limits running requests to `connections` in total and to the limit of each class. Waiting requests start
/// in the order of arrival; those of a full class do not block others. Thread-safe.
class FairQueue {
 public:
  struct ReturnPlace {
    PriorityClass priority;
    bool stalled = false;
    void operator()(FairQueue* queue) const { queue->release(*this); }
  };
  /// The place of one running request, which is free again when this is destroyed.
  using Place = std::unique_ptr<FairQueue, ReturnPlace>;

  explicit FairQueue(const PoolOptions& options);

  /// Waits for a place. Errors: unavailable, if too many wait or after `close`; timeout.
  [[nodiscard]] Result<Place> take(PriorityClass priority, SteadyTime deadline);

  /// Marks a running request as stalled, so that others may use its place. A wheel keeps its place in its own
  /// class, since it probably still runs in a worker. At most `kMaxStalled` times the connections are stalled
  /// at once; beyond that nothing changes.
  void stall(Place& place);
  static constexpr std::size_t kMaxStalled = 3;

  /// Returns the number of waiting requests.
  [[nodiscard]] std::size_t waiting() const;

  /// Refuses new requests, wakes waiting ones, and returns when none runs.
  void close();

 private:
  struct Waiter {
    std::uint64_t number;  ///< of arrival
    std::condition_variable woken{};
    bool has_place = false;
  };
  struct ClassState {
    std::size_t limit = 0;
    bool is_slow = false;      ///< counts for the common limit of slow classes
    bool keeps_place = false;  ///< in this class while stalled
    std::size_t under_way = 0;
    std::list<Waiter*> waiters{};
  };

  ClassState& state(PriorityClass priority) { return classes_[static_cast<std::size_t>(priority)]; }
  [[nodiscard]] bool has_free_place(const ClassState& priority) const {
    return under_way_ < connections_ && priority.under_way < priority.limit &&
           (!priority.is_slow || slow_under_way_ < slow_limit_);
  }
  void begin(ClassState& priority);
  void free_shared_place(const ClassState& priority);
  ClassState* next_class();
  Result<Place> wait(PriorityClass priority, Waiter& waiter, SteadyTime deadline,
                     std::unique_lock<std::mutex>& lock);
  void release(const ReturnPlace& place);
  void wake_next();

  const std::size_t connections_;
  const std::size_t max_waiting_;
  const std::size_t slow_limit_;
  mutable std::mutex mutex_;
  std::condition_variable left_;  ///< a request ended, or stopped waiting
  std::array<ClassState, kPriorityClasses> classes_;
  std::size_t under_way_ = 0;
  std::size_t slow_under_way_ = 0;
  std::size_t stalled_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_number_ = 0;
  bool ended_ = false;
};

}  // namespace rest_fcgi::salt
