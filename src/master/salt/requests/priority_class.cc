// SPDX-License-Identifier: MIT
#include "master/salt/requests/priority_class.h"

#include <algorithm>

namespace rest_fcgi::salt {
namespace {

std::size_t at_least_one(std::size_t number) {
  return std::max<std::size_t>(1, number);
}

/// Returns how many logins and wheels together may run at the same time. The limit leaves one worker of the
/// master to other requests, if the master has several workers.
std::size_t slow_limit(const PoolOptions& options) {
  const std::size_t all_but_one_worker =
      options.worker_threads - std::min<std::size_t>(1, options.worker_threads);
  return at_least_one(std::min(all_but_one_worker, options.connections - options.connections / 4));
}

/// Returns how many requests of a class may run at the same time, at least 1.
std::size_t class_limit(PriorityClass priority, const PoolOptions& options) {
  const std::size_t half_of_the_connections = options.connections / 2;
  const std::size_t half_of_the_workers = (options.worker_threads + 1) / 2;
  const std::size_t slow = slow_limit(options);
  // The limit for wheels and for logins is one less than `slow_limit`, so another slow class can still run.
  // The limit for asynchronous wheels is two less.
  const std::size_t most_of_the_slow = at_least_one(slow - 1);
  switch (priority) {
    case PriorityClass::publish:
      break;
    case PriorityClass::question:
      return at_least_one(options.connections / 4);
    case PriorityClass::runner:
      return at_least_one(std::min(half_of_the_connections, slow));
    case PriorityClass::wheel:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow));
    case PriorityClass::wheel_async:
      return at_least_one(std::min(half_of_the_connections, most_of_the_slow - 1));
    case PriorityClass::login:
      return at_least_one(std::min({half_of_the_connections, most_of_the_slow, half_of_the_workers}));
    case PriorityClass::token:
      return at_least_one(std::min(half_of_the_connections, half_of_the_workers));
  }
  return at_least_one(options.connections);
}

}  // namespace

Limiter::Limits limits_of(const PoolOptions& options) {
  using enum PriorityClass;
  Limiter::Limits limits{.what = "requests to the Salt Master",
                         .slow = slow_limit(options),
                         .stalled = kMaxStalled * at_least_one(options.connections)};
  for (const PriorityClass each : {publish, question, runner, wheel, wheel_async, login, token}) {
    const bool is_wheel = each == wheel || each == wheel_async;
    const bool is_login = each == login || each == token;
    limits.classes.push_back({.at_once = class_limit(each, options),
                              .waiting = is_login ? options.max_waiting_logins : options.max_waiting,
                              .of_all = at_least_one(options.connections),
                              .is_slow = is_wheel || each == login,
                              // The master probably still runs a stalled wheel.
                              .keeps_place = is_wheel});
  }
  return limits;
}

}  // namespace rest_fcgi::salt
