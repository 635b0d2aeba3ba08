// SPDX-License-Identifier: MIT
#include "returner/etcd_lease.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::returner {
namespace {

using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kLongestShared{60};

}  // namespace

EtcdLease::EtcdLease(etcd::Client& client, seconds ttl)
    : client_(client), ttl_(ttl), shared_(std::clamp(ttl / 10, seconds(1), kLongestShared)) {}

Result<std::int64_t> EtcdLease::current(etcd::Deadline deadline) {
  if (ttl_.count() == 0) return std::int64_t{0};
  const std::lock_guard lock(mutex_);
  const auto now = SteadyClock::now();
  if (id_ != 0 && now < use_by_) return id_;
  Result<etcd::Lease> granted = client_.lease_grant(ttl_ + shared_, 0, deadline);
  if (!granted) return std::move(granted).error();
  id_ = granted->id;
  use_by_ = now + shared_;
  return id_;
}

void EtcdLease::forget() {
  const std::lock_guard lock(mutex_);
  id_ = 0;
}

}  // namespace rest_fcgi::returner
