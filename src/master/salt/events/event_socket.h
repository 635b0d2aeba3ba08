// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// A connection to one of the master's event sockets, for reading and writing without waiting. What waits
/// here, a second at most, ends early once the descriptor `stop` is readable; -1: none. Errors, whose
/// messages are for administrators: unavailable, where nobody is there; authorization, where a permission is
/// missing, and which; configuration, where the address is none.
[[nodiscard]] Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop);

/// A connection to the socket where a master publishes its events: there is no greeting, it is only read.
/// Waits end early once the descriptor `stop` is readable, which outlives this; -1: none. Moves; used by one
/// thread.
class EventSocket {
 public:
  /// Errors: those of `connect_event_socket`.
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

/// What keeps this process from connecting to the unix socket at `path`, where the system said EACCES: a
/// folder that it may not search, or the socket itself; whose that is, and what the responder's user needs.
/// May ask whatever nsswitch.conf names. Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// The same sentences about a socket and a folder of which the owner, group and mode are known.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);
[[nodiscard]] std::string refused_folder(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt
