// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <array>
#include <string>

#include "fake_event_bus.h"

namespace rest_fcgi::test {

/// Stands for the socket at which a master receives events. The object has no thread, so events stay in the
/// socket until a test calls `received`.
class FakeEventPull : public FakeMasterSocket {
 public:
  using FakeMasterSocket::FakeMasterSocket;

  /// Returns all bytes that arrived since the last call: first those of the first connection, then those of
  /// the next.
  [[nodiscard]] std::string received() {
    const std::lock_guard lock(mutex_);
    accept_all();
    std::string bytes;
    std::array<char, 65536> room{};
    for (const UniqueFd& writer : peers_) {
      for (ssize_t count = 1; count > 0;) {
        count = ::recv(writer.get(), room.data(), room.size(), MSG_DONTWAIT);
        if (count > 0) bytes.append(room.data(), static_cast<std::size_t>(count));
      }
    }
    return bytes;
  }
};

}  // namespace rest_fcgi::test
