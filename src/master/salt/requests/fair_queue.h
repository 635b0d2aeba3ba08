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

/// The cost of a request for the master. It limits how many requests of a class run at once. The master
/// distributes requests round robin, so slow requests must never occupy all workers.
enum class PriorityClass {
  publish,      ///< The request takes some milliseconds.
  question,     ///< A publish of `saltutil.find_job`, with low priority.
  runner,       ///< The request starts a process, which takes about ten milliseconds.
  wheel,        ///< A wheel runs in the worker until its end.
  wheel_async,  ///< A wheel for which no caller waits.
  login,        ///< A wrong password blocks a worker for a second.
  token,        ///< The request takes some milliseconds, but anyone can send invented tokens.
};
inline constexpr std::size_t kPriorityClasses = 7;

/// The class of a request, and the client's address. The address is empty for a request of this program
/// itself.
struct Request {
  Request(PriorityClass its_priority, std::string_view its_remote = {})
      : priority(its_priority), remote(its_remote) {}
  PriorityClass priority;
  std::string_view remote;
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< The master's `ret_port`.
  std::size_t connections = 16;              ///< The largest number of connections.
  std::size_t worker_threads = 5;            ///< Salt's `worker_threads`: the master's worker processes.
  /// The largest number of threads that wait for a connection. Further requests get the error unavailable.
  std::size_t max_waiting = 1024;
  /// The largest number of threads that wait for the check of a login. As many threads may wait for the
  /// check of a token.
  std::size_t max_waiting_logins = 64;
  /// The largest reply in bytes. A larger reply closes the connection.
  std::size_t max_answer_size = std::size_t{256} << 20;
  /// The longest time to connect. A refused connection fails at once.
  std::chrono::milliseconds connect_timeout{4000};
  /// A request that takes this long has stalled, unless it is a login. Its worker is busy or has died, or it
  /// is a slow wheel. The request continues, but other requests do not wait for it, see `FairQueue::stall`.
  std::chrono::milliseconds slow_after{2000};
};

/// Returns how many requests of a class may run at once, at least 1.
std::size_t class_limit(PriorityClass priority, const PoolOptions& options);

/// Returns how many logins and wheels may run together. One of the master's workers stays free, if the master
/// has more than one.
std::size_t slow_limit(const PoolOptions& options);

/// Limits the running requests to `connections` in total, and to the limit of each class. Waiting requests
/// start in the order of their arrival. If a class is full, its waiting requests do not block other classes.
/// Thread-safe.
class FairQueue {
 public:
  struct ReturnPlace {
    PriorityClass priority;
    bool stalled = false;
    void operator()(FairQueue* queue) const { queue->release(*this); }
  };
  /// The place of one running request. Its destructor frees the place.
  using Place = std::unique_ptr<FairQueue, ReturnPlace>;

  explicit FairQueue(const PoolOptions& options);

  /// Waits for a place. Errors: unavailable, if too many requests wait, or after `close`; timeout.
  [[nodiscard]] Result<Place> take(PriorityClass priority, SteadyTime deadline);

  /// Marks a running request as stalled, so that another request may use its place. A wheel keeps its place
  /// in the limit of its class, since it probably still runs in a worker. The number of stalled requests is
  /// at most `kMaxStalled` times the number of connections. Beyond this number the call has no effect.
  void stall(Place& place);
  static constexpr std::size_t kMaxStalled = 3;

  /// Returns the number of waiting requests.
  [[nodiscard]] std::size_t waiting() const;

  /// Refuses new requests and wakes the waiting ones. Returns when no request runs.
  void close();

 private:
  struct Waiter {
    std::uint64_t number;  ///< The number in the order of arrival.
    std::condition_variable woken{};
    bool has_place = false;
  };
  struct ClassState {
    std::size_t limit = 0;
    bool is_slow = false;      ///< Requests of this class count for the common limit of slow classes.
    bool keeps_place = false;  ///< A stalled request keeps its place in this class.
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
  std::condition_variable left_;  ///< Notified when a request has ended or has stopped waiting.
  std::array<ClassState, kPriorityClasses> classes_;
  std::size_t under_way_ = 0;
  std::size_t slow_under_way_ = 0;
  std::size_t stalled_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_number_ = 0;
  bool ended_ = false;
};

}  // namespace rest_fcgi::salt
