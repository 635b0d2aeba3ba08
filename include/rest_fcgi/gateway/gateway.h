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

/// The two front ends: FastCGI (FastCGI Specification 1.0, responder role) and HTTP/1.1 (RFC 9112). The
/// gateway also handles the process's threads, signals, shutdown and reload. It knows nothing of Salt.
namespace rest_fcgi::gateway {

/// Protects the passwords in this process's memory: disables core dumps and ptrace(2) by the same user. Sets
/// the umask 077. Blocks the signals that `serve` waits for. REQUIRES: no thread runs and no file was read
/// yet.
void harden_process();

/// The applications, which answer the requests of each port.
struct Applications {
  http::Application fastcgi;  ///< answers FastCGI requests; may be empty if there is no FastCGI
  /// One application for each entry of `Options::http`, in the same order.
  std::vector<http::Application> http;
};

/// Reads the configuration again and makes new applications. After an Error the old applications stay in use.
using Reload = std::function<Result<Applications>()>;

/// What is left when `Gateway::serve` returns.
struct Ended {
  SteadyTime deadline;    ///< end of the shutdown: the time of the signal plus `shutdown_timeout`
  std::size_t in_flight;  ///< number of requests whose threads still run in an application
};

/// Current numbers for metrics.
struct Statistics {
  std::size_t threads;  ///< number of threads in the pool
  std::size_t waiting;  ///< number of requests that wait for a thread
  std::size_t http_connections;
  std::size_t fastcgi_connections;
  std::size_t streams;
  std::uint64_t slow_streams;  ///< number of streams closed so far because their peers read too slowly
};

/// Reads and checks the certificates and keys of all ports without opening a port. Errors: configuration,
/// with the file and the reason, as in `Gateway::open`.
Result<void> check_certificates(const Options& options);

/// Owns all listening sockets and their threads. One thread makes, serves and destroys the Gateway; `status`
/// is thread-safe.
class Gateway {
 public:
  /// Opens the listening sockets and reads the certificates. Replaces a unix socket on which no process
  /// listens. Errors: configuration, with HOST:PORT or the file, and the reason. It is an error if another
  /// process listens on the unix socket.
  static Result<std::unique_ptr<Gateway>> open(const Options& options);
  virtual ~Gateway() = default;

  /// Returns the current numbers. Any thread may call it.
  [[nodiscard]] virtual Statistics statistics() const = 0;

  /// Answers requests with `applications` until SIGTERM, SIGINT or SIGUSR1, which Apache sends. On SIGHUP,
  /// calls `reload` and uses the new applications. At the end, stops accepting requests and waits until all
  /// requests have ended, at most for `shutdown_timeout`. Removes the unix socket that this Gateway made.
  /// Errors: internal, if no thread can be started. REQUIRES: `harden_process` was called.
  virtual Result<Ended> serve(Applications applications, const Reload& reload) = 0;
};

}  // namespace rest_fcgi::gateway
