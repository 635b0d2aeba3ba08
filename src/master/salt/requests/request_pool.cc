// SPDX-License-Identifier: MIT
#include "master/salt/requests/request_pool.h"

#include <algorithm>
#include <utility>

#include <zmq.hpp>

#include "master/salt/requests/connection.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

/// A connection has three of ZeroMQ's sockets; those that were closed take their places for a moment longer.
constexpr std::size_t kSocketsEach = 6;
constexpr std::size_t kMaxSockets = 65535;  // more than ZeroMQ takes

/// The pool over ZeroMQ. Its context has one thread for input and output, which blocks all signals by itself.
class Pool final : public RequestPool {
 public:
  using RequestPool::request;

  explicit Pool(const PoolOptions& options)
      : connection_({options.uri, options.max_answer_size}),
        connect_timeout_(options.connect_timeout),
        slow_after_(options.slow_after),
        logins_(limits_of(Lane::login, options)),
        tokens_(limits_of(Lane::token, options)),
        turns_(options),
        outage_(options.connect_timeout) {
    context_.set(zmq::ctxopt::max_sockets,
                 static_cast<int>(std::min(
                     kMaxSockets, kSocketsEach * ((1 + Turns::kStalled) * options.connections + 1))));
    // The first socket starts ZeroMQ's threads, and it ends the process where there are no files left for
    // them.
    const zmq::socket_t first(context_, zmq::socket_type::pair);
  }

  ~Pool() override {
    context_.shutdown();
    turns_.end();
  }

  Result<WipedBytes> request(Errand errand, WipedBytes message, SteadyTime deadline,
                             const Before& before) override {
    Result<Pass> pass = enter(errand, deadline);
    if (!pass) return std::move(pass).error();
    auto turn = turns_.take(errand.lane, deadline);
    if (!turn) return std::move(turn).error();
    auto connection = open_connection(deadline);
    if (!connection) return std::move(connection).error();
    if (before) {
      if (Result<void> ready = before(); !ready) return std::move(ready).error();
    }
    if (auto sent = (*connection)->send(std::move(message)); !sent) return std::move(sent).error();
    auto answer = receive(**connection, *turn, *pass, deadline);
    if (answer) idle_.put(*std::move(connection), now());
    return answer;
  }

 private:
  using Pass = auth::PasswordHashLimiter::Pass;

  /// Where the answer does not come soon, the request no longer holds up others.
  Result<WipedBytes> receive(Connection& connection, Turns::Turn& turn, Pass& pass, SteadyTime deadline) {
    const bool may_stall = turn.get_deleter().lane != Lane::login;
    auto answer = connection.receive(may_stall ? std::min(deadline, now() + slow_after_) : deadline);
    if (answer || answer.error().kind != ErrorKind::timeout || now() >= deadline) return answer;
    turns_.stall(turn);
    if (turn.get_deleter().stalled) pass.reset();
    return connection.receive(deadline);
  }

  /// Logins and tokens of one address must not delay those of others, so addresses take turns.
  Result<Pass> enter(const Errand& errand, SteadyTime deadline) {
    if (errand.lane == Lane::login) return logins_.enter(errand.remote, 0, deadline);
    if (errand.lane == Lane::token) return tokens_.enter(errand.remote, 0, deadline);
    return Pass();
  }

  static auth::PasswordHashLimiter::Limits limits_of(Lane lane, const PoolOptions& options) {
    return {.at_once = lane_limit(lane, options), .waiting = options.max_waiting_logins};
  }

  static SteadyTime now() { return std::chrono::steady_clock::now(); }

  /// A kept connection, or a new one. REQUIRES: the caller has a turn.
  Result<std::unique_ptr<Connection>> open_connection(SteadyTime deadline) {
    if (now() >= deadline) return time_is_up();
    while (auto kept = idle_.take()) {
      if (kept->is_open()) return kept;
    }
    if (!outage_.may_try(now())) return master_not_available();
    auto made = Connection::make(context_, connection_);
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

  const Connection::Options connection_;
  const std::chrono::milliseconds connect_timeout_;
  const std::chrono::milliseconds slow_after_;
  zmq::context_t context_{1};
  auth::PasswordHashLimiter logins_;
  auth::PasswordHashLimiter tokens_;
  Turns turns_;
  Outage outage_;
  IdleConnections idle_;
};

}  // namespace

Result<std::unique_ptr<RequestPool>> RequestPool::make(const PoolOptions& options) {
  if (auto checked = check_endpoint(options.uri); !checked) return std::move(checked).error();
  if (auto loaded = load_zmq(); !loaded) return std::move(loaded).error();
  try {
    return std::unique_ptr<RequestPool>(std::make_unique<Pool>(options));
  } catch (const zmq::error_t& error) {
    return Error{ErrorKind::internal, format("ZeroMQ: {}.", error.what())};
  }
}

}  // namespace rest_fcgi::salt
