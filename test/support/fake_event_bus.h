// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {

/// Returns the bytes with which a master's event bus sends an event. The body of the event is `tag LF LF
/// data`.
[[nodiscard]] std::string event_frame(std::string_view tag, std::string_view data,
                                      salt::Framing framing = salt::Framing::bare);

/// Stands for a master's event bus, on a unix socket or on a loopback port. Each call first accepts the
/// readers that have connected. A reader therefore gets all events that are sent after its connect(2).
/// Thread-safe.
class FakeEventBus {
 public:
  /// Listens on the unix socket `path`. If `path` is empty, listens on a free TCP port of 127.0.0.1.
  explicit FakeEventBus(std::string path, salt::Framing framing = salt::Framing::bare);
  ~FakeEventBus();
  FakeEventBus(const FakeEventBus&) = delete;
  FakeEventBus& operator=(const FakeEventBus&) = delete;

  void start();

  void stop();

  void close_all();

  /// Sends an event to all readers. If a reader does not read, the call waits.
  void send(std::string_view tag, std::string_view data);
  void send_bytes(std::string_view bytes);

  [[nodiscard]] unsigned port() const noexcept { return port_; }

 private:
  void accept_all();

  const std::string path_;
  const salt::Framing framing_;
  unsigned port_ = 0;
  std::mutex mutex_;
  UniqueFd listener_;
  std::vector<UniqueFd> readers_;
};

}  // namespace rest_fcgi::test
