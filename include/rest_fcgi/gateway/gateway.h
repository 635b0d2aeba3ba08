// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/http/application.h"

/// The front ends, FastCGI (FastCGI Specification 1.0, responder role) and HTTP/1.1 (RFC 9112), and the
/// duties of a process: threads, signals, shutdown, reload. Knows no Salt.
namespace rest_fcgi::gateway {

/// Before any thread starts and anything is read: no core dumps and no ptrace by the same user, since memory
/// holds passwords; umask 077; the signals that `serve` waits for are blocked; OpenSSL lasts as long as the
/// process.
void harden_process();

/// What answers.
struct Applications {
  http::Application fastcgi;            ///< on FastCGI, where there is one
  std::vector<http::Application> http;  ///< on each of `Options::http`, in its order
};

/// Makes the applications that the configuration as it is now asks for. An Error leaves the old ones in
/// place.
using Reload = std::function<Result<Applications>()>;

/// How serving ended.
struct Ended {
  SteadyTime deadline;    ///< until when what is in flight may go on: `shutdown_timeout` after the signal
  std::size_t in_flight;  ///< requests that had not ended then; their threads use what the application uses
};

/// Could this process, as it is, read the certificates and keys of all ports? Opens no port. Errors: those of
/// `Gateway::open` about files.
Result<void> check_certificates(const Options& options);

/// All listening sockets with their threads. Made, served and destroyed by one thread.
class Gateway {
 public:
  /// Opens the listening sockets and reads certificates. Errors: configuration, with what was asked for and
  /// why it cannot be had: HOST:PORT, or the file. A unix socket that somebody still serves is left alone;
  /// one that nobody serves any more is replaced.
  static Result<std::unique_ptr<Gateway>> open(const Options& options);
  virtual ~Gateway() = default;

  /// Answers requests with `applications` until SIGTERM, SIGINT or SIGUSR1 (Apache's) comes; on SIGHUP with
  /// what `reload` gives. Then accepts no more, and returns when what is in flight has ended, or
  /// `shutdown_timeout` is over. A unix socket that we made is removed. Errors: internal, where no thread can
  /// be started. REQUIRES: `harden_process` was called.
  virtual Result<Ended> serve(Applications applications, const Reload& reload) = 0;
};

}  // namespace rest_fcgi::gateway
