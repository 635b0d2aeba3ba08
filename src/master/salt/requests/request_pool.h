// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "master/salt/requests/fair_queue.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

/// Requests to a Salt master over a few connections, each with one request at a time, as Salt 3006 to 3008
/// expect. Independent of the content of messages. Thread-safe.
///
/// A request is sent once. After it may have reached the master, it is not sent again, since it may have been
/// carried out.
class RequestPool {
 public:
  /// Starts ZeroMQ's threads, which block all signals; makes no connection. Errors: configuration, for a
  /// malformed `uri`; internal.
  static Result<std::unique_ptr<RequestPool>> make(const PoolOptions& options);

  /// Ends all requests with unavailable, and waits for them. No new request may start.
  virtual ~RequestPool() = default;

  /// Called just before a request is sent. An error prevents that.
  using Before = std::function<Result<void>()>;

  /// Sends a message and waits for the reply. Both are wiped. Errors: unavailable, if the master does not run
  /// or too many threads wait (nothing was sent), or if the connection was lost before the reply; timeout;
  /// internal, for a malformed reply; those of `before`.
  [[nodiscard]] virtual Result<WipedBytes> request(Request info, WipedBytes message, SteadyTime deadline,
                                                   const Before& before) = 0;
  [[nodiscard]] Result<WipedBytes> request(Request info, WipedBytes message, SteadyTime deadline) {
    return request(info, std::move(message), deadline, Before());
  }
};

}  // namespace rest_fcgi::salt
