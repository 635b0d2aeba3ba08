// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "master/salt/requests/fair_queue.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

/// Sends requests to a Salt master over a few connections. Each connection has one request at a time, as Salt
/// 3006 to 3008 expect. The content of messages does not matter here. Thread-safe.
///
/// A request is sent only once. If it may have reached the master, it is not sent again, since the master may
/// have carried it out.
class RequestPool {
 public:
  /// Starts ZeroMQ's threads, which block all signals. Makes no connection. Errors: configuration, for a
  /// malformed `uri`; internal.
  static Result<std::unique_ptr<RequestPool>> make(const PoolOptions& options);

  /// Ends all requests with the error unavailable, and waits for them. REQUIRES: no new request starts.
  virtual ~RequestPool() = default;

  /// This function is called just before a request is sent. If it returns an error, the request is not sent.
  using Before = std::function<Result<void>()>;

  /// Sends a message and waits for the reply. Message and reply are wiped. Errors: unavailable, if the master
  /// does not run or too many threads wait, in which case nothing was sent; unavailable, if the connection
  /// was lost before the reply; timeout; internal, for a malformed reply; those of `before`.
  [[nodiscard]] virtual Result<WipedBytes> request(Request info, WipedBytes message, SteadyTime deadline,
                                                   const Before& before) = 0;
  [[nodiscard]] Result<WipedBytes> request(Request info, WipedBytes message, SteadyTime deadline) {
    return request(info, std::move(message), deadline, Before());
  }
};

}  // namespace rest_fcgi::salt
