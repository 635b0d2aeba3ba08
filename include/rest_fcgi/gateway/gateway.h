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

/// The front ends for FastCGI (FastCGI Specification 1.0, responder role) and HTTP/1.1 (RFC 9112), with the
/// process's threads, signals, shutdown and reload.
namespace rest_fcgi::gateway {

/// Protects the process: disables core dumps and ptrace(2), sets the umask 077, and blocks the signals that
/// `serve` waits for. REQUIRES: the process has one thread and has read no file.
void harden_process();

struct Applications {
  http::Application fastcgi;  ///< `fastcgi` is the application for FastCGI. Empty without a FastCGI socket.
  /// `http` has the applications of the ports in `Options::http`, in the same order.
  std::vector<http::Application> http;
};

/// Reads the configuration again and makes new applications. After an error the old applications are kept.
using Reload = std::function<Result<Applications>()>;

struct Ended {
  SteadyTime deadline;    ///< `deadline` is the time of the stop signal plus `shutdown_timeout`.
  std::size_t in_flight;  ///< `in_flight` is the number of requests that still run.
};

struct Statistics {
  std::size_t threads;
  std::size_t waiting;
  std::size_t http_connections;
  std::size_t fastcgi_connections;
  std::size_t streams;
  std::uint64_t slow_streams;
};

/// Reads and checks the certificates of all ports. Errors: configuration, with the file and the reason.
Result<void> check_certificates(const Options& options);

/// Owns the listening sockets and their threads. One thread makes, serves and destroys a Gateway.
class Gateway {
 public:
  /// Opens the listening sockets and reads the certificates. Replaces the file of a unix socket if no process
  /// listens on it. Errors: configuration, with HOST:PORT or the file, and the reason.
  static Result<std::unique_ptr<Gateway>> open(const Options& options);
  virtual ~Gateway() = default;

  /// Returns the current numbers of connections, requests and threads. Thread-safe.
  [[nodiscard]] virtual Statistics statistics() const = 0;

  /// Answers requests until SIGTERM, SIGINT or SIGUSR1 (Apache's signal). On SIGHUP, calls `reload` and uses
  /// the new applications. At the end, waits for running requests, at most for `shutdown_timeout`. Errors:
  /// internal, if no thread can be started. REQUIRES: `harden_process` was called.
  virtual Result<Ended> serve(Applications applications, const Reload& reload) = 0;
};

}  // namespace rest_fcgi::gateway
