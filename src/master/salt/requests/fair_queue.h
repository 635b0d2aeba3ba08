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

/// The classes of requests to the master, by their cost. The master distributes requests round robin to its
/// workers. Each class has a limit of running requests, so that slow requests never occupy all workers.
enum class PriorityClass {
  publish,      ///< A `publish` takes some milliseconds of a worker of the master.
  question,     ///< A `question` publishes `saltutil.find_job` and has a low priority.
  runner,       ///< A `runner` starts a process, which takes about ten milliseconds.
  wheel,        ///< A `wheel` runs in the master's worker until it ends.
  wheel_async,  ///< A `wheel_async` is a wheel for which no caller waits.
  login,        ///< A `login` with a wrong password blocks a worker for a second.
  token,        ///< A `token` request asks the master for a token's owner.
};
inline constexpr std::size_t kPriorityClasses = 7;

/// A request's class and client address. A request of the program itself has an empty address.
struct Request {
  Request(PriorityClass its_priority, std::string_view its_remote = {}, bool* sent = nullptr)
      : priority(its_priority), remote(its_remote), is_sent(sent) {}
  PriorityClass priority;
  std::string_view remote;
  bool* is_sent;  ///< `is_sent` may be null. The pool sets it to true when the master may have the request.
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< `uri` is the master's `ret_port`.
  std::size_t connections = 16;              ///< `connections` is the largest number of connections.
  std::size_t worker_threads = 5;            ///< `worker_threads` is the number of the master's workers.
  /// `max_waiting` limits the threads that wait for a connection. Further requests fail with `unavailable`.
  std::size_t max_waiting = 1024;
  /// The largest number of threads that wait until the master has checked a login. A second limit of this
  /// size applies to threads that wait until the master has checked a token.
  std::size_t max_waiting_logins = 64;
  /// The largest reply in bytes. A larger reply closes the connection.
  std::size_t max_answer_size = std::size_t{256} << 20;
  /// The longest time until TCP connects. A refused connection fails immediately. If the master accepts the
  /// connection but stands still, the request waits until its deadline.
  std::chrono::milliseconds connect_timeout{4000};
  /// The time after which a request counts as stalled. Other requests do not wait for a stalled request; see
  /// `FairQueue::stall`. A login never counts as stalled.
  std::chrono::milliseconds slow_after{2000};
};

/// Returns how many requests of a class may run at the same time, at least 1.
std::size_t class_limit(PriorityClass priority, const PoolOptions& options);

/// Returns how many logins and wheels together may run at the same time. The limit leaves one worker of the
/// master to other requests, if the master has several workers.
std::size_t slow_limit(const PoolOptions& options);

/// Limits the running requests to `connections` in total, and to the limit of each class. Requests wait in
/// the order of their arrival. A full class does not block other classes. Thread-safe.
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

  /// Waits for a place. Fails with `timeout`. Fails with `unavailable` if too many requests wait, and after
  /// `close`.
  Result<Place> take(PriorityClass priority, SteadyTime deadline);

  /// Marks a running request as stalled, so that another request may use its place. A stalled wheel still
  /// counts for the limit of its class, because the wheel probably still runs. The number of stalled requests
  /// is limited to `kMaxStalled` times the number of connections.
  void stall(Place& place);
  static constexpr std::size_t kMaxStalled = 3;

  [[nodiscard]] std::size_t waiting() const;
  /// Returns the number of running requests, including stalled requests.
  [[nodiscard]] std::size_t running() const;

  /// Refuses new requests and makes the waiting requests fail. Returns when no request runs.
  void close();

 private:
  struct Waiter {
    std::uint64_t number;
    std::condition_variable woken{};
    bool has_place = false;
  };
  struct ClassState {
    std::size_t limit = 0;
    bool is_slow = false;      ///< `is_slow` says whether requests of the class count for `slow_limit`.
    bool keeps_place = false;  ///< `keeps_place` says whether a stalled request counts for the class limit.
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
  std::condition_variable left_;  ///< `left_` is notified when a request ends or stops waiting.
  std::array<ClassState, kPriorityClasses> classes_;
  std::size_t under_way_ = 0;
  std::size_t slow_under_way_ = 0;
  std::size_t stalled_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_number_ = 0;
  bool ended_ = false;
};

}  // namespace rest_fcgi::salt
