// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// Answers some requests at once, without waiting. Returns std::nullopt for all other requests.
using AtOnce = std::function<std::optional<http::Response>(const http::Environ&)>;

struct Applications {
  http::Application fastcgi;  ///< `fastcgi` is the application for FastCGI. Empty without a FastCGI socket.
  /// `http` has the applications of the ports in `Options::http`, in the same order.
  std::vector<http::Application> http;
  /// Requests for which an overloaded server needs no thread, such as `/health`: on the API's ports and over
  /// FastCGI, and on a port with `is_monitoring`. Both may be empty.
  AtOnce at_once{};
  AtOnce monitoring_at_once{};
  /// Is called for each refused request, with the name of its port. The name is empty for FastCGI. May be
  /// empty.
  std::function<void(std::string_view port, http::Status status)> on_refused{};
};

/// What the gateway does on SIGHUP.
struct Reload {
  /// Reads the configuration again and makes new applications. After an error the old applications are kept.
  std::function<Result<Applications>()> read;
  /// If set, `ended` gets the result, after the gateway uses the new applications and certificates.
  std::function<void(const Result<void>&)> ended{};
};

/// How `serve` ends.
enum class Ending {
  stop,       ///< After SIGTERM, SIGINT and SIGUSR1 no other process takes over the sockets.
  hand_over,  ///< After SIGUSR2 the next process takes over the sockets that a service manager keeps.
};

/// Functions that `serve` calls when it ends. An empty function is not called.
struct EndHooks {
  /// Called after the signal, when sockets that are not kept until the end have been closed.
  std::function<void(Ending)> begin{};
  /// Ends the work that requests wait for, so that they can be answered until `Ended::deadline`. Waits for
  /// the work at most until its argument. Returns the number of jobs that still run.
  std::function<std::size_t(SteadyTime)> end_work{};
};

struct Ended {
  SteadyTime deadline;  ///< `deadline` is the time of the stop signal plus `shutdown_timeout`.
  std::size_t running;  ///< `running` is the number of requests and jobs that still run.
};

struct Statistics {
  std::size_t threads;
  std::size_t waiting;
  std::size_t http_connections;
  /// The HTTP connections that can be opened before the server closes waiting ones or accepts no more.
  std::size_t http_connections_left;
  std::size_t fastcgi_connections;
  std::size_t streams;
  std::uint64_t slow_streams;
};

/// Checks what `Gateway::open` needs, and changes nothing: addresses, the folders of unix sockets, and
/// certificates. Does not check whether other programs have the ports. Errors: the errors of `open`.
Result<void> check_start(const Options& options);

/// Returns an error for each port and unix socket of `options` that another program than rest_fcgi has.
std::vector<Error> taken_addresses(const Options& options);

struct FrontEnds;

/// Owns the listening sockets and their threads. One thread makes, serves and destroys a Gateway.
class Gateway {
 public:
  /// Opens the listening sockets and reads the certificates. Replaces the file of a unix socket if no process
  /// listens on it. Errors: configuration, with HOST:PORT or the file, and the reason.
  static Result<std::unique_ptr<Gateway>> open(const Options& options);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Returns the current numbers of connections, requests and threads. Thread-safe.
  [[nodiscard]] Statistics statistics() const;

  /// Calls `keep` with each TCP port of HTTP and its descriptor. `keep` returns whether a service manager
  /// keeps the socket open for the next process. REQUIRES: `serve` was not called yet.
  void keep_ports(const std::function<bool(const HttpOptions&, int)>& keep);

  /// Answers requests until SIGTERM, SIGINT, SIGUSR1 (Apache's signal) or SIGUSR2. On SIGHUP, calls `reload`
  /// and uses the new applications. At the end, waits for running requests, at most for `shutdown_timeout`.
  /// After a stop, ports with health checks stay open until the end. Errors: internal, if no thread can be
  /// started. REQUIRES: `harden_process` was called.
  Result<Ended> serve(Applications applications, const Reload& reload, const EndHooks& hooks = {});

 private:
  explicit Gateway(std::shared_ptr<FrontEnds> front_ends);

  // Each thread of the pool holds a reference to the front ends, because the thread may outlive the gateway.
  const std::shared_ptr<FrontEnds> front_ends_;
};

}  // namespace rest_fcgi::gateway
