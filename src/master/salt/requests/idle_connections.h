// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "master/salt/requests/connection.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::salt {

/// The kept connections that nobody uses now. Owns them. Those put last are taken first, so that what a busy
/// time needed grows old at the other end. Thread-safe; its mutex is what connections pass between threads
/// under.
class IdleConnections {
 public:
  /// A connection that lay this long is closed when the next one is put.
  static constexpr std::chrono::seconds kMaxAge{60};

  /// None: null.
  std::unique_ptr<Connection> take();

  void put(std::unique_ptr<Connection> connection, SteadyTime now);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Kept {
    std::unique_ptr<Connection> connection;
    SteadyTime since;
  };

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  ///< oldest first
};

}  // namespace rest_fcgi::salt
