// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gateway/fastcgi/server.h"
#include "gateway/http/server.h"
#include "gateway/listening_socket.h"
#include "gateway/shared.h"
#include "gateway/socket_activation.h"
#include "gateway/sys.h"
#include "gateway/tls.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

void reread(const Reload& reload, Shared& shared) noexcept {
  try {
    auto applications = reload();
    if (!applications) {
      log::error(
          format("the reload failed; the old configuration stays in use: {}", applications.error().message));
      return;
    }
    shared.replace(*std::move(applications));
    log::info("configuration reread");
  } catch (...) {
    log_exception("the reload failed; the old configuration stays in use");
  }
}

/// The front ends and the objects that they share. Each thread of the pool holds a reference to FrontEnds,
/// because the thread may outlive the gateway.
struct FrontEnds {
  FrontEnds(const Options& options, std::vector<HttpServer::OpenPort> ports, ListeningSocket fastcgi_socket)
      : shared(options), http(shared, std::move(ports)) {
    if (fastcgi_socket.fd) fastcgi.emplace(shared, std::move(fastcgi_socket));
  }
  void stop_accepting() {
    http.stop();
    if (fastcgi) fastcgi->stop();
  }

  Shared shared;
  HttpServer http;
  std::optional<FastCgiServer> fastcgi;
};

class ServingGateway final : public Gateway {
 public:
  explicit ServingGateway(std::shared_ptr<FrontEnds> front_ends)
      : front_ends_(std::move(front_ends)), shared_(front_ends_->shared) {}

  ~ServingGateway() override {
    try {
      front_ends_->stop_accepting();
    } catch (...) {
      log_exception("the listening sockets were not closed");
    }
  }

  [[nodiscard]] Statistics statistics() const override {
    const auto [threads, waiting] = shared_.pool.counts();
    return {.threads = threads,
            .waiting = waiting,
            .http_connections = shared_.http_connections.count(),
            .fastcgi_connections = shared_.fastcgi_connections.count(),
            .streams = shared_.streams.count(),
            .slow_streams = shared_.streams.slow()};
  }

  Result<Ended> serve(Applications applications, const Reload& reload) override {
    shared_.replace(std::move(applications));
    if (auto started = shared_.pool.start(front_ends_); !started) return std::move(started).error();
    front_ends_->http.start();
    if (front_ends_->fastcgi) front_ends_->fastcgi->start();
    await_stop(reload);
    const SteadyTime deadline = system_clock().steady() + shared_.options.shutdown_timeout;
    front_ends_->stop_accepting();
    shared_.streams.close();
    wait_for_requests(deadline);
    // Streams with TLS use the pool's timers, so the streams end before the pool stops.
    shared_.streams.wait_for_end(deadline);
    const std::size_t left = shared_.pool.stop(deadline);
    if (left != 0) log::warning(format("{} requests did not end within shutdown_timeout", left));
    // Destroys the applications here, because a thread of the pool may keep `Shared` alive for longer.
    if (left == 0) shared_.replace({});
    return Ended{deadline, left};
  }

 private:
  static constexpr std::chrono::milliseconds kSweep{250};

  void maintain() {
    const SteadyTime now = system_clock().steady();
    shared_.http_connections.sweep(now);
    shared_.fastcgi_connections.sweep(now);
    shared_.pool.shrink(now);
    shared_.trim.look(now);
  }

  void await_stop(const Reload& reload) {
    for (;;) {
      const auto signal = wait_for_signal(kSweep);
      maintain();
      if (!signal) continue;
      if (*signal != SIGHUP) return log::info(format("signal {}: ending", *signal));
      reread(reload, shared_);
      front_ends_->http.reread_certificates();
    }
  }

  void wait_for_requests(SteadyTime deadline) {
    const SteadyTime began = system_clock().steady();
    shared_.http_connections.stop(began);
    shared_.fastcgi_connections.stop(began);
    constexpr std::chrono::milliseconds kStep{20};
    for (SteadyTime now = began; now < deadline; now = system_clock().steady()) {
      const auto step = std::min<SteadyTime::duration>(kStep, deadline - now);
      if (shared_.http_connections.wait_until_empty(step) &&
          shared_.fastcgi_connections.wait_until_empty(step))
        return;
      maintain();
    }
  }

  const std::shared_ptr<FrontEnds> front_ends_;
  Shared& shared_;
};

}  // namespace

Result<void> check_certificates(const Options& options) {
  for (const HttpOptions& http : options.http) {
    if (auto made = make_tls_context(http); !made) return std::move(made).error();
  }
  return {};
}

Result<std::unique_ptr<Gateway>> Gateway::open(const Options& options) {
  if (auto ready = init_libfcgi(); !ready) return std::move(ready).error();
  const std::size_t http_connections = options.http.empty() ? 0 : options.max_http_connections;
  raise_file_limit(options.max_threads + options.max_waiting + http_connections + options.max_streams + 256);
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
    return std::unique_ptr<Gateway>(std::make_unique<ServingGateway>(
        std::make_shared<FrontEnds>(options, *std::move(ports), *std::move(fastcgi))));
  } catch (const boost::system::system_error& error) {
    return Error{ErrorKind::internal, error.what(), {}};
  }
}

}  // namespace rest_fcgi::gateway
