// SPDX-License-Identifier: MIT
#include "master/salt/requests/request_pool.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::salt {
namespace {

/// The number of ZeroMQ sockets that the pool counts for each connection. A connection has three open
/// sockets. ZeroMQ also counts closed sockets for a short time, so the number is twice as large.
constexpr std::size_t kSocketsEach = 6;
constexpr std::size_t kMaxSockets = 65535;  // The largest number of sockets that ZeroMQ supports.

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

Error deadline_passed() {
  return {ErrorKind::timeout, "The Salt Master was not reached before the time limit; nothing was sent."};
}

}  // namespace

RequestPool::RequestPool(const PoolOptions& options)
    : connection_({options.uri, options.max_answer_size}),
      connect_timeout_(options.connect_timeout),
      slow_after_(options.slow_after),
      limiter_(limits_of(options)),
      outage_(options.connect_timeout) {
  context_.set(
      zmq::ctxopt::max_sockets,
      static_cast<int>(std::min(kMaxSockets, kSocketsEach * ((1 + kMaxStalled) * options.connections + 1))));
  // The first socket starts ZeroMQ's threads. ZeroMQ aborts the process if no file descriptors are left
  // then, so the pool makes a socket before it serves requests.
  const zmq::socket_t first(context_, zmq::socket_type::pair);
}

RequestPool::~RequestPool() {
  end();
  limiter_.close();
}

Result<std::string> RequestPool::request(RequestInfo info, const std::string& message, SteadyTime deadline,
                                         const Before& before) {
  // Clients take turns with logins and tokens. Other requests are sent in the order of arrival.
  const bool is_login = info.priority == PriorityClass::login || info.priority == PriorityClass::token;
  auto pass = limiter_.enter(static_cast<std::size_t>(info.priority),
                             is_login ? http::network_of(info.remote) : std::string(), deadline);
  if (!pass) return std::move(pass).error();
  auto connection = open_connection(deadline);
  if (!connection) return std::move(connection).error();
  if (before) {
    if (Result<void> ready = before(); !ready) return std::move(ready).error();
  }
  if (auto sent = (*connection)->send(message); !sent) return std::move(sent).error();
  if (info.is_sent != nullptr) *info.is_sent = true;
  auto answer = receive(**connection, info.priority, *pass, deadline);
  if (answer) idle_.put(*std::move(connection), now());
  return answer;
}

RequestStatistics RequestPool::statistics() const {
  return {limiter_.working(), idle_.size(), limiter_.waiting()};
}

/// Marks a slow request as stalled, so that other requests can use its place.
Result<std::string> RequestPool::receive(MasterConnection& connection, PriorityClass priority,
                                         Limiter::Pass& pass, SteadyTime deadline) {
  const bool may_stall = priority != PriorityClass::login;
  auto answer = connection.receive(may_stall ? std::min(deadline, now() + slow_after_) : deadline);
  if (answer || answer.error().kind != ErrorKind::timeout || now() >= deadline) return answer;
  limiter_.stall(pass);
  return connection.receive(deadline);
}

/// REQUIRES: the caller has a Pass.
Result<std::unique_ptr<MasterConnection>> RequestPool::open_connection(SteadyTime deadline) {
  if (now() >= deadline) return deadline_passed();
  while (auto kept = idle_.take()) {
    if (kept->is_open()) return kept;
  }
  if (!outage_.may_try(now())) return master_not_available();
  auto made = MasterConnection::make(context_, connection_);
  if (!made) return made;
  const auto opening = (*made)->wait_until_open(now() + connect_timeout_, deadline);
  if (opening != MasterConnection::Opening::unreachable) outage_.succeeded();
  if (opening == MasterConnection::Opening::open) return made;
  if (now() >= deadline) return deadline_passed();
  outage_.failed(now());
  return master_not_available();
}

Result<std::unique_ptr<RequestPool>> RequestPool::make(const PoolOptions& options) {
  if (auto checked = check_endpoint(options.uri); !checked) return std::move(checked).error();
  try {
    return std::unique_ptr<RequestPool>(new RequestPool(options));
  } catch (const zmq::error_t& error) {
    return Error{ErrorKind::internal, format("ZeroMQ: {}.", error.what())};
  }
}

}  // namespace rest_fcgi::salt
