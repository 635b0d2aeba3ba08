// SPDX-License-Identifier: MIT
#include "etcd/retry.h"

#include <chrono>
#include <thread>
#include <utility>

#include "etcd/attempts.h"

namespace rest_fcgi::etcd {
namespace {

/// A try that ends so close to the deadline was cut off by it, give or take a timer's tick.
constexpr std::chrono::milliseconds kCut{5};

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

Result<void> retry(Endpoints& endpoints, Effect effect, Deadline deadline, const Try& attempt) {
  Attempts attempts(endpoints.size());
  while (true) {
    const std::size_t member = endpoints.choose(now());
    std::optional<Failure> failure = attempt(member);
    if (!failure) {
      endpoints.answered(member);
      return {};
    }
    if (failure->remedy == Remedy::next_member) endpoints.failed(member, now());
    if (effect == Effect::once && !failure->outcome_known) {
      failure->error.kind = ErrorKind::timeout;
      failure->error.message += "; whether it was carried out is not known";
      return std::move(failure->error);
    }
    if (failure->remedy != Remedy::next_member) return std::move(failure->error);
    attempts.add(member, *failure, now() + kCut >= deadline);
    const SteadyTime next = now() + attempts.pause();
    if (next >= deadline) return attempts.error(effect != Effect::none);
    std::this_thread::sleep_until(next);
  }
}

}  // namespace rest_fcgi::etcd
