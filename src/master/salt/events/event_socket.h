// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "master/salt/events/bus_options.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// A connection to the socket where a master publishes its events: there is no greeting, it is only read.
/// Waits end early once the descriptor `stop` is readable, which outlives this; -1: none. Moves; used by one
/// thread.
class EventSocket {
 public:
  /// Errors, whose messages are for administrators: unavailable, where nobody is there; authorization, where
  /// a permission is missing, and which; configuration, where the address is none.
  [[nodiscard]] static Result<EventSocket> connect(const BusOptions& where, int stop);

  /// What came, valid until the next call; empty where nothing did for `patience`. Errors: unavailable, where
  /// the connection is lost.
  [[nodiscard]] Result<std::string_view> read(std::chrono::milliseconds patience);

 private:
  using Room = std::array<char, 64 << 10>;
  EventSocket(UniqueFd fd, int stop) : fd_(std::move(fd)), stop_(stop), room_(std::make_unique<Room>()) {}

  UniqueFd fd_;
  int stop_;
  std::unique_ptr<Room> room_;
};

}  // namespace rest_fcgi::salt
