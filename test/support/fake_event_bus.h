// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {

/// Returns an event as bytes of the event bus, in the framing of a release series of Salt. The event is the
/// map `{"head": {}, "body": tag LF LF data}`.
[[nodiscard]] std::string event_frame(std::string_view tag, std::string_view data,
                                      salt::Framing framing = salt::Framing::bare);

/// A master's event bus on a unix socket or on loopback. It has no thread. Each call first accepts the
/// waiting readers, so a reader receives all events after its connect. Thread-safe.
class FakeEventBus {
 public:
  /// Starts to listen at the path. With an empty path, the bus listens at a free TCP port of 127.0.0.1.
  explicit FakeEventBus(std::string path, salt::Framing framing = salt::Framing::bare);
  ~FakeEventBus();
  FakeEventBus(const FakeEventBus&) = delete;
  FakeEventBus& operator=(const FakeEventBus&) = delete;

  /// Listens again at the same path or port, after `stop`.
  void start();

  /// Closes all connections and removes the socket, as a master does at its end.
  void stop();

  /// Closes the connections of all readers. The readers can connect again.
  void close_all();

  /// Sends an event to all readers. If a reader does not read, the call blocks.
  void send(std::string_view tag, std::string_view data);
  void send_bytes(std::string_view bytes);

  [[nodiscard]] unsigned port() const noexcept { return port_; }

 private:
  void accept_all();

  const std::string path_;
  const salt::Framing framing_;
  unsigned port_ = 0;
  std::mutex mutex_;
  UniqueFd listener_;              // guarded by mutex_
  std::vector<UniqueFd> readers_;  // guarded by mutex_
};

}  // namespace rest_fcgi::test
