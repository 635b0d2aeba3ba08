// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/fastcgi/server.h"
#include "gateway/http/server.h"
#include "gateway/listening_socket.h"
#include "gateway/shared.h"
#include "gateway/socket_activation.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::chrono::milliseconds kSweep{250};

/// The time for the replies to requests that did not end in time.
constexpr std::chrono::seconds kReplyTime{3};

}  // namespace

/// The front ends and the objects that they share.
struct FrontEnds {
  FrontEnds(const Options& options, std::vector<HttpServer::OpenPort> ports, ListeningSocket fastcgi_socket)
      : shared(options), http(shared, std::move(ports)) {
    if (fastcgi_socket.fd) fastcgi.emplace(shared, std::move(fastcgi_socket));
  }
  /// Closes the listening sockets, with `keeps_health` only those that do not answer health checks.
  void stop_accepting(bool keeps_health) {
    http.stop(keeps_health);
    if (fastcgi && !(keeps_health && shared.options.answers_health)) fastcgi->stop();
  }

  void maintain() {
    const SteadyTime now = system_clock().steady();
    shared.http_connections.sweep(now);
    shared.fastcgi_connections.sweep(now);
    shared.pool.maintain(now);
    static_cast<void>(shared.monitoring_files.fill());
    shared.trim.look(now);
    shared.overload.report(now);
  }

  Ending await_end(const Reload& reload) {
    for (;;) {
      const auto signal = wait_for_signal(kSweep);
      maintain();
      if (!signal) continue;
      if (*signal == SIGHUP) {
        const Result<void> result = reread(reload);
        if (reload.ended) reload.ended(result);
        continue;
      }
      log::info(format("signal {}: ending", *signal));
      return *signal == SIGUSR2 ? Ending::hand_over : Ending::stop;
    }
  }

  Result<void> reread(const Reload& reload) {
    const auto failed = [](std::string_view what, Error error) -> Result<void> {
      log::error(format("the reload failed; the old {} stays in use: {}", what, error.message));
      return error;
    };
    try {
      auto ports = http.with_new_certificates();
      if (!ports) return failed("certificate", std::move(ports).error());
      auto applications = reload.read();
      if (!applications) return failed("configuration", std::move(applications).error());
      http.use(*std::move(ports));
      shared.replace(*std::move(applications));
      log::info("configuration reread");
      return {};
    } catch (...) {
      log_exception("the reload failed; the old configuration stays in use");
      return Error{ErrorKind::internal, "the reload failed; the log has the cause"};
    }
  }

  void wait_for_requests(SteadyTime deadline) {
    constexpr std::chrono::milliseconds kStep{20};
    for (SteadyTime now = system_clock().steady(); now < deadline; now = system_clock().steady()) {
      const auto step = std::min<SteadyTime::duration>(kStep, deadline - now);
      if (shared.http_connections.wait_until_empty(step) && shared.fastcgi_connections.wait_until_empty(step))
        return;
      maintain();
    }
  }

  Shared shared;
  HttpServer http;
  std::optional<FastCgiServer> fastcgi;
};

Gateway::Gateway(std::shared_ptr<FrontEnds> front_ends) : front_ends_(std::move(front_ends)) {}

Gateway::~Gateway() {
  try {
    front_ends_->stop_accepting(false);
  } catch (...) {
    log_exception("the listening sockets were not closed");
  }
}

Statistics Gateway::statistics() const {
  const Shared& shared = front_ends_->shared;
  const auto [threads, waiting] = shared.pool.counts();
  const std::size_t http = shared.http_connections.count();
  const std::size_t most_http = std::max(shared.most_http_connections(), http);
  return {.threads = threads,
          .waiting = waiting,
          .http_connections = http,
          .http_connections_left = most_http - http,
          .fastcgi_connections = shared.fastcgi_connections.count(),
          .streams = shared.streams.count(),
          .slow_streams = shared.streams.slow()};
}

void Gateway::keep_ports(const std::function<bool(const HttpOptions&, int)>& keep) {
  front_ends_->http.keep_ports(keep);
}

Result<Ended> Gateway::serve(Applications applications, const Reload& reload, const EndHooks& hooks) {
  Shared& shared = front_ends_->shared;
  shared.replace(std::move(applications));
  if (auto started = shared.pool.start(front_ends_); !started) {
    static_cast<void>(shared.pool.stop(system_clock().steady()));
    return std::move(started).error();
  }
  front_ends_->http.start();
  if (front_ends_->fastcgi) front_ends_->fastcgi->start();
  const Ending ending = front_ends_->await_end(reload);
  const SteadyTime deadline = system_clock().steady() + shared.options.shutdown_timeout;
  front_ends_->stop_accepting(ending == Ending::stop);
  if (hooks.begin) hooks.begin(ending);
  shared.streams.close();
  shared.http_connections.stop(system_clock().steady());
  shared.fastcgi_connections.stop(system_clock().steady());
  // Requests that still run at `last_call` are answered with an error until `deadline`.
  const SteadyTime last_call =
      deadline - std::min<SteadyTime::duration>(kReplyTime, shared.options.shutdown_timeout / 4);
  front_ends_->wait_for_requests(last_call);
  const std::size_t jobs = hooks.end_work ? hooks.end_work(last_call) : 0;
  front_ends_->wait_for_requests(deadline);
  front_ends_->stop_accepting(false);
  // Streams with TLS use the pool's timers, so the streams end before the pool stops.
  shared.streams.wait_for_end(deadline);
  const std::size_t left = shared.pool.stop(deadline);
  if (left != 0) log::warning(format("{} requests did not end within shutdown_timeout", left));
  // Destroys the applications here, because a thread of the pool may keep `Shared` alive for longer.
  if (left == 0) shared.replace({});
  return Ended{deadline, left + jobs};
}

Result<std::unique_ptr<Gateway>> Gateway::open(const Options& options) {
  if (auto ready = init_libfcgi(); !ready) return std::move(ready).error();
  const std::size_t http_connections = options.http.empty() ? 0 : options.max_http_connections;
  // A FastCGI connection has two descriptors.
  const std::size_t files = 2 * (options.max_threads + options.max_waiting) + http_connections +
                            options.max_streams + Shared::kReservedFiles;
  raise_file_limit(files);
  if (const std::size_t limit = file_limit(); limit < files) {
    log::warning(format(
        "open files: found a limit of {}, expected {} for max_threads, max_waiting, max_streams and {} "
        "HTTP connections: fewer connections are accepted; raise the limit (ulimit -n, "
        "LimitNOFILE=)",
        limit, files, http_connections));
  }
  auto sockets = SocketActivation::take();
  if (!sockets) return std::move(sockets).error();
  auto ports = HttpServer::open(options, *sockets);
  if (!ports) return std::move(ports).error();
  // Opens the FastCGI socket last. A program that waits for this unix socket's file finds the HTTP ports
  // open.
  auto fastcgi = open_fastcgi_socket(options, *sockets);
  if (!fastcgi) return std::move(fastcgi).error();
  if (auto used = sockets->check_rest(); !used) return std::move(used).error();
  try {
    return std::unique_ptr<Gateway>(
        new Gateway(std::make_shared<FrontEnds>(options, *std::move(ports), *std::move(fastcgi))));
  } catch (const boost::system::system_error& error) {
    return Error{ErrorKind::internal, error.what(), {}};
  }
}

}  // namespace rest_fcgi::gateway
