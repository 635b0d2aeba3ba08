// SPDX-License-Identifier: MIT
#include "master/salt/requests/request_pool.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "master/salt/requests/connection.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {
namespace {

class Pool final : public RequestPool {
 public:
  using RequestPool::request;

  Pool(const PoolOptions& options, UniqueFd stop)
      : stop_(std::move(stop)),
        connection_({options.uri, options.max_answer_size, stop_.get()}),
        connect_timeout_(options.connect_timeout),
        slow_after_(options.slow_after),
        turns_(options),
        outage_(options.connect_timeout) {}

  ~Pool() override {
    const std::uint64_t one = 1;
    static_cast<void>(::write(stop_.get(), &one, sizeof one));
    turns_.end();
  }

  Result<WipedBytes> request(Lane lane, WipedBytes message, SteadyTime deadline,
                             const Before& before) override {
    auto turn = turns_.take(lane, deadline);
    if (!turn) return std::move(turn).error();
    auto connection = open_connection(deadline);
    if (!connection) return std::move(connection).error();
    if (before) {
      if (Result<void> ready = before(); !ready) return std::move(ready).error();
    }
    if (auto sent = (*connection)->send(std::move(message), deadline); !sent) return std::move(sent).error();
    auto answer = receive(**connection, lane, *turn, deadline);
    if (answer) idle_.put(*std::move(connection), now());
    return answer;
  }

 private:
  /// Where the answer does not come soon, the request no longer holds up others.
  Result<WipedBytes> receive(Connection& connection, Lane lane, Turns::Turn& turn, SteadyTime deadline) {
    const bool may_stall = lane != Lane::login;
    auto answer = connection.receive(may_stall ? std::min(deadline, now() + slow_after_) : deadline);
    if (answer || answer.error().kind != ErrorKind::timeout || now() >= deadline) return answer;
    turns_.stall(turn);
    return connection.receive(deadline);
  }

  static SteadyTime now() { return std::chrono::steady_clock::now(); }

  /// A kept connection, or a new one. REQUIRES: the caller has a turn.
  Result<std::unique_ptr<Connection>> open_connection(SteadyTime deadline) {
    if (now() >= deadline) return time_is_up();
    while (auto kept = idle_.take()) {
      if (kept->is_open()) return kept;
    }
    if (!outage_.may_try(now())) return master_not_available();
    auto made = Connection::make(connection_);
    if (!made) return made;
    if ((*made)->wait_until_open(std::min(deadline, now() + connect_timeout_))) {
      outage_.succeeded();
      return made;
    }
    if (now() >= deadline) return time_is_up();
    outage_.failed(now());
    return master_not_available();
  }

  static Error time_is_up() {
    return {ErrorKind::timeout, "The time was up before the Salt Master could be reached; nothing was sent."};
  }

  const UniqueFd stop_;  ///< an eventfd(2), readable at the end
  const Connection::Options connection_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds slow_after_;
  Turns turns_;
  Outage outage_;
  IdleConnections idle_;
};

}  // namespace

Result<std::unique_ptr<RequestPool>> RequestPool::make(const PoolOptions& options) {
  if (auto checked = check_endpoint(options.uri); !checked) return std::move(checked).error();
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return Error{ErrorKind::internal, format("eventfd: {}", errno_text())};
  return std::unique_ptr<RequestPool>(std::make_unique<Pool>(options, std::move(stop)));
}

}  // namespace rest_fcgi::salt
