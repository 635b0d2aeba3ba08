// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {

/// Returns a map of the event bus, `{"head": {}, "body": tag LF LF data}`, in the framing of a release
/// series.
[[nodiscard]] std::string event_frame(std::string_view tag, std::string_view data,
                                      salt::Framing framing = salt::Framing::bare);

/// A master's event bus on a unix socket or on loopback, without a thread: each call first accepts the
/// waiting readers, so that a reader receives everything after its connect. Thread-safe.
class FakeEventBus {
 public:
  /// Starts. Without a path it listens at a free TCP port of 127.0.0.1.
  explicit FakeEventBus(std::string path, salt::Framing framing = salt::Framing::bare);
  ~FakeEventBus();
  FakeEventBus(const FakeEventBus&) = delete;
  FakeEventBus& operator=(const FakeEventBus&) = delete;

  /// Listens again at the same place.
  void start();

  /// Behaves like a master that ends: every reader sees the end, and the socket is gone.
  void stop();

  /// Closes every reader's connection. Readers may connect again.
  void close_all();

  /// Sends to all readers. Waits for readers that do not read.
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
