// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/http/application.h"

/// The two front ends: FastCGI (FastCGI Specification 1.0, responder role) and HTTP/1.1 (RFC 9112). Also the
/// process around them: threads, signals, shutdown, reload. Nothing here is about Salt.
namespace rest_fcgi::gateway {

/// Protects the process: no core dumps and no ptrace by the same user, because memory holds passwords; umask
/// 077. Blocks the signals that `serve` waits for. To be called before any thread starts and any file is
/// read.
void harden_process();

/// The functions that answer requests.
struct Applications {
  http::Application fastcgi;            ///< for FastCGI; may be empty without it
  std::vector<http::Application> http;  ///< for each of `Options::http`, in its order
};

/// Makes the applications for the current configuration. After an Error the old ones stay in use.
using Reload = std::function<Result<Applications>()>;

/// The state after serving.
struct Ended {
  SteadyTime deadline;    ///< `shutdown_timeout` after the signal
  std::size_t in_flight;  ///< requests whose threads are still inside the application
};

/// Numbers for metrics.
struct Status {
  std::size_t threads;  ///< of the pool
  std::size_t waiting;  ///< requests that wait for a thread
  std::size_t http_connections;
  std::size_t fastcgi_connections;
  std::size_t streams;
  std::uint64_t slow_streams;  ///< streams that were closed because their peers read too slowly
};

/// Reads the certificates and keys of all ports, and opens no port. Errors: those of `Gateway::open` about
/// files.
Result<void> check_certificates(const Options& options);

/// All listening sockets with their threads. Made, served and destroyed by one thread.
class Gateway {
 public:
  /// Opens the listening sockets and reads certificates. Errors: configuration, with HOST:PORT or the file,
  /// and the reason. A unix socket on which another process listens is an error; one that is left over is
  /// replaced.
  static Result<std::unique_ptr<Gateway>> open(const Options& options);
  virtual ~Gateway() = default;

  /// Returns the current numbers. Any thread may call it.
  [[nodiscard]] virtual Status status() const = 0;

  /// Answers requests with `applications`, and after each SIGHUP with those that `reload` returns, until
  /// SIGTERM, SIGINT or SIGUSR1 (Apache's). Then stops accepting, and returns when all requests have ended,
  /// at the latest after `shutdown_timeout`. Removes a unix socket that it made. Errors: internal, if no
  /// thread can be started. REQUIRES: `harden_process` was called.
  virtual Result<Ended> serve(Applications applications, const Reload& reload) = 0;
};

}  // namespace rest_fcgi::gateway
