// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "rest_fcgi/core/limiter.h"

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

/// A request's class and client address. A request of the program itself has an empty address.
struct RequestInfo {
  RequestInfo(PriorityClass its_priority, std::string_view its_remote = {}, bool* sent = nullptr)
      : priority(its_priority), remote(its_remote), is_sent(sent) {}
  PriorityClass priority;
  std::string_view remote;
  bool* is_sent;  ///< `is_sent` may be null. The pool sets it to true when the master may have the request.
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< `uri` is the master's `ret_port`.
  std::size_t connections = 16;              ///< `connections` is the largest number of connections.
  std::size_t worker_threads = 5;            ///< `worker_threads` is the number of the master's workers.
  /// `max_waiting` limits the threads of each class that wait for a connection. Further requests fail with
  /// `unavailable`.
  std::size_t max_waiting = 1024;
  /// The limit for the classes `login` and `token` instead of `max_waiting`.
  std::size_t max_waiting_logins = 64;
  /// The largest reply in bytes. A larger reply closes the connection.
  std::size_t max_answer_size = std::size_t{256} << 20;
  /// The longest time until TCP connects. A refused connection fails immediately. If the master accepts the
  /// connection but stands still, the request waits until its deadline.
  std::chrono::milliseconds connect_timeout{4000};
  /// The time after which a request counts as stalled. Other requests do not wait for a stalled request; see
  /// `Limiter::stall`. A login never counts as stalled.
  std::chrono::milliseconds slow_after{2000};
};

/// The largest number of stalled requests for each connection.
inline constexpr std::size_t kMaxStalled = 3;

/// Returns the limits of requests, with the classes in the order of PriorityClass.
[[nodiscard]] Limiter::Limits limits_of(const PoolOptions& options);

}  // namespace rest_fcgi::salt
