// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <zmq.hpp>

#include "master/salt/requests/master_connection.h"
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
  ~RequestPool();

  /// A function that the pool calls just before it sends a request. If the function fails, the request is not
  /// sent.
  using Before = std::function<Result<void>()>;

  /// Sends a message and waits for the reply. Fails with `unavailable`, `timeout`, the errors of `before`, or
  /// `internal` for a malformed reply.
  Result<std::string> request(RequestInfo info, const std::string& message, SteadyTime deadline,
                              const Before& before = nullptr);

  [[nodiscard]] RequestStatistics statistics() const;

  /// Ends all requests with `unavailable`. Later requests fail, too.
  void end() { context_.shutdown(); }

 private:
  explicit RequestPool(const PoolOptions& options);
  Result<std::string> receive(MasterConnection& connection, PriorityClass priority, Limiter::Pass& pass,
                              SteadyTime deadline);
  Result<std::unique_ptr<MasterConnection>> open_connection(SteadyTime deadline);

  const MasterConnection::Options connection_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds slow_after_;
  zmq::context_t context_{1};
  Limiter limiter_;
  Outage outage_;
  IdleConnections idle_;
};

}  // namespace rest_fcgi::salt
