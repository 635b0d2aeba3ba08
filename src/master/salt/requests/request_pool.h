// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "master/salt/requests/priority_class.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/salt/salt.h"

namespace rest_fcgi::salt {

/// Sends requests to a Salt master over a few connections, each with one request at a time. Does not send a
/// request again if the master may have executed it. Thread-safe.
class RequestPool {
 public:
  /// Starts ZeroMQ's threads without connecting. Fails with `configuration` for a malformed `uri`, or with
  /// `internal`.
  static Result<std::unique_ptr<RequestPool>> make(const PoolOptions& options);

  /// Ends all requests with the error `unavailable`. REQUIRES: no new request starts.
  virtual ~RequestPool() = default;

  /// A function that the pool calls just before it sends a request. If the function fails, the request is not
  /// sent.
  using Before = std::function<Result<void>()>;

  /// Sends a message and waits for the reply. Fails with `unavailable`,
  /// `timeout`, the errors of `before`, or `internal` for a malformed reply.
  virtual Result<std::string> request(Request info, const std::string& message, SteadyTime deadline,
                                      const Before& before) = 0;
  Result<std::string> request(Request info, const std::string& message, SteadyTime deadline) {
    return request(info, message, deadline, Before());
  }

  [[nodiscard]] virtual RequestStatistics statistics() const = 0;

  /// Ends all requests with `unavailable`. Later requests fail, too.
  virtual void end() = 0;
};

}  // namespace rest_fcgi::salt
