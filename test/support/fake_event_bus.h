// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {

/// Returns the bytes of an event on a master's event bus. The body of the event is `tag LF LF data`.
[[nodiscard]] std::string event_frame(std::string_view tag, std::string_view data,
                                      salt::Framing framing = salt::Framing::bare);

/// A listening socket of a master. Each call first accepts the programs that have connected. Thread-safe.
class FakeMasterSocket {
 public:
  /// Listens on the unix socket `path`. If `path` is empty, listens on a free TCP port of 127.0.0.1.
  explicit FakeMasterSocket(std::string path);
  ~FakeMasterSocket();
  FakeMasterSocket(const FakeMasterSocket&) = delete;
  FakeMasterSocket& operator=(const FakeMasterSocket&) = delete;

  void start();

  /// Closes all connections and stops listening, as a master does at its end.
  void stop();

  void close_all();

  [[nodiscard]] std::size_t connections();
  [[nodiscard]] unsigned port() const noexcept { return port_; }

 protected:
  /// REQUIRES: the caller holds `mutex_`.
  void accept_all();

  std::mutex mutex_;
  std::vector<UniqueFd> peers_;

 private:
  const std::string path_;
  unsigned port_ = 0;
  UniqueFd listener_;
};

/// Stands for a master's event bus. A reader gets all events that are sent after its connect(2).
class FakeEventBus : public FakeMasterSocket {
 public:
  explicit FakeEventBus(std::string path, salt::Framing framing = salt::Framing::bare)
      : FakeMasterSocket(std::move(path)), framing_(framing) {}

  /// Sends an event to all readers, and waits for readers that do not read.
  void send(std::string_view tag, std::string_view data);
  void send_bytes(std::string_view bytes);

 private:
  const salt::Framing framing_;
};

/// Stands for the socket at which a master receives events. The object has no thread, so events stay in the
/// socket until a test calls `received`.
class FakeEventPull : public FakeMasterSocket {
 public:
  using FakeMasterSocket::FakeMasterSocket;

  /// Returns all bytes since the last call, in the order of the connections.
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
