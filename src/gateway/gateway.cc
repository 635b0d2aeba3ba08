// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <signal.h>

#include <memory>
#include <utility>

#include "gateway/listener.h"
#include "gateway/pool.h"
#include "gateway/request.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// Whatever goes wrong, the application that answers now goes on.
void reread(const Reload& reload, Pool& pool) noexcept {
  try {
    auto application = reload();
    if (!application) {
      log::error(format("going on with the old configuration: {}", application.error().message));
      return;
    }
    pool.replace(*std::move(application));
    log::info("configuration reread");
  } catch (...) {
    log_exception("going on with the old configuration");
  }
}

class FastCgiGateway final : public Gateway {
 public:
  explicit FastCgiGateway(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}

  Result<Ended> serve(http::Application application, const Reload& reload) override {
    const std::shared_ptr<Pool> pool = std::move(pool_);  // at the end what it listens on is closed
    pool->replace(std::move(application));
    if (auto started = pool->start(); !started) return std::move(started).error();
    await_stop(reload, *pool);
    const SteadyTime deadline = system_clock().steady() + pool->options().shutdown_timeout;
    pool->stop();
    const std::size_t left = pool->wait_for_end(deadline);
    if (left != 0) {
      log::warning(format("{} requests did not end within shutdown_timeout", left));
    } else {
      // The last thread may still be about to let go of the pool, and is not the one to end the application.
      pool->replace({});
    }
    return Ended{deadline, left};
  }

 private:
  static void await_stop(const Reload& reload, Pool& pool) {
    int signal = wait_for_signal();
    for (; signal == SIGHUP; signal = wait_for_signal()) reread(reload, pool);
    log::info(format("signal {}: ending", signal));
  }

  std::shared_ptr<Pool> pool_;
};

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::open(const Options& options) {
  if (auto ready = init_libfcgi(); !ready) return std::move(ready).error();
  // For each thread its epoll and its connection, and who waits; the rest is for files that applications
  // open.
  raise_file_limit(2 * options.max_threads + options.max_waiting + 256);
  auto listener = Listener::open(options);
  if (!listener) return std::move(listener).error();
  auto events = PoolEvents::make();
  if (!events) return std::move(events).error();
  return std::unique_ptr<Gateway>(std::make_unique<FastCgiGateway>(
      std::make_shared<Pool>(options, *std::move(listener), *std::move(events))));
}

}  // namespace rest_fcgi::gateway
