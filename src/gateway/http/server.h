// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "gateway/handed_over.h"
#include "gateway/pool.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// All ports of `Options::http`, and the loop in which their connections live. Whole requests are answered
/// there as long as that is quick, and else by the pool's threads. Made, started and ended by one thread.
class HttpServer {
 public:
  /// Listens, or takes the socket of that port from those that were handed over, and reads certificates.
  /// Without ports it does nothing. Errors: configuration, naming the port's name, and HOST:PORT or the file;
  /// internal.
  static Result<std::unique_ptr<HttpServer>> open(const Options& options, HandedOver& sockets);
  virtual ~HttpServer() = default;

  /// Accepts connections. Errors: internal, where no thread can be had.
  virtual Result<void> start(std::shared_ptr<Pool> pool) = 0;

  /// Reads all certificates and keys again, for the connections that come from then on; where one cannot be
  /// used, those of its port stay, and the log says so. REQUIRES: it was started.
  virtual void reread_certificates() = 0;

  /// Takes no more connections than those that wait already; those that wait at a socket that was handed over
  /// are left to the next process. Takes no more requests than are there, or come within the second in which
  /// their connection was made or last answered.
  virtual void close() = 0;

  /// Waits until all requests that are there were answered, but not after `deadline`, and closes what is left
  /// then. Returns how many its own threads are still at work on. REQUIRES: `close` was called, and the pool
  /// takes tasks.
  virtual std::size_t wait_for_end(SteadyTime deadline) = 0;
};

}  // namespace rest_fcgi::gateway
