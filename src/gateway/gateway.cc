// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <signal.h>

#include <memory>
#include <utility>

#include "gateway/fastcgi/request.h"
#include "gateway/handed_over.h"
#include "gateway/http/channel.h"
#include "gateway/http/server.h"
#include "gateway/listener.h"
#include "gateway/pool.h"
#include "gateway/streams/streams.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// Whatever goes wrong, the applications that answer now go on.
void reread(const Reload& reload, Pool& pool) noexcept {
  try {
    auto applications = reload();
    if (!applications) {
      log::error(format("going on with the old configuration: {}", applications.error().message));
      return;
    }
    pool.replace(*std::move(applications));
    log::info("configuration reread");
  } catch (...) {
    log_exception("going on with the old configuration");
  }
}

class BothFrontEnds final : public Gateway {
 public:
  BothFrontEnds(std::shared_ptr<Pool> pool, std::unique_ptr<HttpServer> http)
      : pool_(std::move(pool)), http_(std::move(http)) {}

  Result<Ended> serve(Applications applications, const Reload& reload) override {
    const std::shared_ptr<Pool> pool = std::move(pool_);  // at the end what it listens on is closed
    const std::unique_ptr<HttpServer> http = std::move(http_);
    pool->replace(std::move(applications));
    if (auto started = pool->start(); !started) return std::move(started).error();
    if (auto started = http->start(pool); !started) return std::move(started).error();
    await_stop(reload, *pool, *http);
    const SteadyTime deadline = system_clock().steady() + pool->options().shutdown_timeout;
    http->close();
    pool->close();
    pool->streams().close();
    std::size_t left = http->wait_for_end(deadline);  // until then it has tasks for the pool
    pool->stop();
    left += pool->wait_for_end(deadline);
    pool->streams().wait_for_end(deadline);
    if (left != 0) {
      log::warning(format("{} requests did not end within shutdown_timeout", left));
    } else {
      // The last thread may still be about to let go of the pool, and is not the one to end the applications.
      pool->replace({});
    }
    return Ended{deadline, left};
  }

 private:
  static void await_stop(const Reload& reload, Pool& pool, HttpServer& http) {
    int signal = wait_for_signal();
    for (; signal == SIGHUP; signal = wait_for_signal()) {
      reread(reload, pool);
      http.reread_certificates();
    }
    log::info(format("signal {}: ending", signal));
  }

  std::shared_ptr<Pool> pool_;
  std::unique_ptr<HttpServer> http_;
};

Result<std::unique_ptr<Listener>> open_fastcgi(const Options& options, HandedOver& sockets) {
  if (options.listen.empty() || options.listen == "fd:0") {
    if (UniqueFd given = sockets.unix_socket())
      return std::make_unique<Listener>(Listener::Kind::inherited, std::move(given));
  }
  const bool wanted = !options.listen.empty() || options.http.empty() || is_listening_stream(0);
  return wanted ? Listener::open(options) : Listener::none();
}

}  // namespace

Result<void> check_certificates(const Options& options) {
  for (const HttpOptions& http : options.http) {
    if (auto made = TlsContext::make(http); !made) return std::move(made).error();
  }
  return {};
}

Result<std::unique_ptr<Gateway>> Gateway::open(const Options& options) {
  if (auto ready = init_libfcgi(); !ready) return std::move(ready).error();
  // For each thread its epoll and its connection, who waits, and streams; the rest is for files that
  // applications open.
  const std::size_t http_connections = options.http.empty() ? 0 : options.max_http_connections;
  raise_file_limit(2 * options.max_threads + options.max_waiting + http_connections + options.max_streams +
                   256);
  auto sockets = HandedOver::take();
  if (!sockets) return std::move(sockets).error();
  auto http = HttpServer::open(options, *sockets);
  if (!http) return std::move(http).error();
  // Last: who finds a unix socket there finds the ports, too.
  auto listener = open_fastcgi(options, *sockets);
  if (!listener) return std::move(listener).error();
  if (auto used = sockets->check_rest(); !used) return std::move(used).error();
  auto events = PoolEvents::make();
  if (!events) return std::move(events).error();
  auto pool = std::make_shared<Pool>(options, *std::move(listener), *std::move(events));
  return std::unique_ptr<Gateway>(std::make_unique<BothFrontEnds>(std::move(pool), *std::move(http)));
}

}  // namespace rest_fcgi::gateway
