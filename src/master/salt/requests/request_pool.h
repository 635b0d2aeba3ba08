// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "master/salt/not_available.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

/// What a request costs the master, and so how many of its kind may be under way at once: the master's
/// workers take what comes round robin, blind to load, so slow work must never hold all of them.
enum class Lane {
  publish,   ///< some milliseconds
  question,  ///< `saltutil.find_job`: a publish that can wait
  call,      ///< runners, which fork in the worker, and wheels, which run in it
  login,     ///< a wrong password holds a worker for a second
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< the master's `ret_port`
  std::size_t connections = 16;              ///< at most so many at a time
  std::size_t worker_threads = 5;            ///< Salt's option of that name: the master's workers
  std::size_t max_waiting = 1024;       ///< threads that may wait for a connection; beyond it: unavailable
  std::size_t max_waiting_logins = 64;  ///< of these for logins, which anybody can make many of
  std::size_t max_answer_size = std::size_t{256} << 20;  ///< bytes; a larger answer breaks the connection
  std::chrono::milliseconds connect_timeout{2000};       ///< a master that refuses is noticed at once
  /// A publish or question that takes this long has met a worker that is stuck or lost: it goes on waiting,
  /// but no longer counts among the `connections`, so that the others go on.
  std::chrono::milliseconds slow_after{2000};
};

/// How many requests of a lane may be under way at once, at least 1.
std::size_t lane_limit(Lane lane, const PoolOptions& options);

/// How many logins and calls together: they leave one of the master's workers alone, where it has more than
/// one.
std::size_t slow_limit(const PoolOptions& options);

/// Requests to a Salt master over a small number of kept connections, each with one request in flight: the
/// only form that all living lines of Salt take. Knows nothing of what is in a message. Thread-safe.
///
/// A request is sent once. Where it may have reached the master it is not sent again, whatever happens:
/// nobody knows whether it was carried out.
class RequestPool {
 public:
  /// Starts ZeroMQ's two threads, which block all signals; makes no connection yet. Errors: configuration,
  /// for a `uri` that is none; internal.
  static Result<std::unique_ptr<RequestPool>> make(const PoolOptions& options);

  /// Ends the requests that are under way or wait, with unavailable, and returns when they have left. None
  /// may begin any more.
  virtual ~RequestPool() = default;

  /// Sends a message and waits for its answer. What it holds is wiped. Errors: unavailable, where the master
  /// is not there (then nothing was sent), where the connection broke before the answer came, or where too
  /// many threads wait (nothing was sent); timeout; internal, for an answer that is none.
  [[nodiscard]] virtual Result<WipedBytes> request(Lane lane, WipedBytes message, SteadyTime deadline) = 0;
};

}  // namespace rest_fcgi::salt
