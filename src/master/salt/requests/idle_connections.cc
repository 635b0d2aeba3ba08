// SPDX-License-Identifier: MIT
#include "master/salt/requests/idle_connections.h"

#include <utility>

namespace rest_fcgi::salt {

std::unique_ptr<Connection> IdleConnections::take() {
  const std::scoped_lock lock(mutex_);
  if (kept_.empty()) return nullptr;
  auto newest = std::move(kept_.back().connection);
  kept_.pop_back();
  return newest;
}

void IdleConnections::put(std::unique_ptr<Connection> connection, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  while (!kept_.empty() && now - kept_.front().since >= kMaxAge) kept_.pop_front();
  kept_.push_back({std::move(connection), now});
}

std::size_t IdleConnections::size() const {
  const std::scoped_lock lock(mutex_);
  return kept_.size();
}

}  // namespace rest_fcgi::salt
