// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "master/salt/requests/turns.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

// libzmq.cc

/// Loads libzmq, which only who has a Salt master needs. To be called before anything of zmq.hpp; further
/// calls change nothing. Thread-safe. Errors: configuration, where `name` is not there or is something else.
[[nodiscard]] Result<void> load_zmq(const char* name = "libzmq.so.5");

// request_pool.cc

/// Requests to a Salt master over a small number of kept connections, each with one request in flight: the
/// only form that all living lines of Salt take. Knows nothing of what is in a message. Thread-safe.
///
/// A request is sent once. Where it may have reached the master it is not sent again, whatever happens:
/// nobody knows whether it was carried out.
class RequestPool {
 public:
  /// Starts ZeroMQ's threads, one for input and output, and its reaper, which block all signals; makes no
  /// connection yet. Errors: configuration, for a `uri` that is none, or where libzmq cannot be loaded;
  /// internal.
  static Result<std::unique_ptr<RequestPool>> make(const PoolOptions& options);

  /// Ends the requests that are under way or wait, with unavailable, and returns when they have left. None
  /// may begin any more.
  virtual ~RequestPool() = default;

  /// Called when a request has its turn and a connection, and is sent next; an error keeps it from that.
  using Before = std::function<Result<void>()>;

  /// Sends a message and waits for its answer. What it holds is wiped. Errors: unavailable, where the master
  /// is not there (then nothing was sent), where the connection broke before the answer came, or where too
  /// many threads wait (nothing was sent); timeout; internal, for an answer that is none; those of `before`.
  [[nodiscard]] virtual Result<WipedBytes> request(Errand errand, WipedBytes message, SteadyTime deadline,
                                                   const Before& before) = 0;
  [[nodiscard]] Result<WipedBytes> request(Errand errand, WipedBytes message, SteadyTime deadline) {
    return request(errand, std::move(message), deadline, Before());
  }
};

}  // namespace rest_fcgi::salt
