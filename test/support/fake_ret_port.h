// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A master's `ret_port` on loopback. It has a ROUTER socket and worker threads. Each worker handles one
/// message at a time. Unlike a real master, the port gives no message to a busy worker. Worker threads call
/// the handler, and `stop` and the destructor wait for the handler. Not synchronized.
class FakeRetPort {
 public:
  /// Gets the body of a request and returns the body of the answer. Without a value, no answer is sent.
  using Handler = std::function<std::optional<std::string>(std::string)>;
  using Frames = std::vector<std::string>;
  /// Gets all frames of a message and returns all frames of the answer. If there are no frames, no answer is
  /// sent.
  using FramesHandler = std::function<Frames(Frames)>;

  /// Starts the workers and listens at a free port.
  explicit FakeRetPort(Handler handler, std::size_t workers = 1);
  explicit FakeRetPort(FramesHandler handler, std::size_t workers = 1);
  ~FakeRetPort();
  FakeRetPort(const FakeRetPort&) = delete;
  FakeRetPort& operator=(const FakeRetPort&) = delete;

  /// Listens again at the same port, after `stop`.
  void start();

  /// Closes all connections and the port.
  void stop();

  /// Returns the address, `tcp://127.0.0.1:PORT`. The address stays the same after `stop`.
  [[nodiscard]] std::string uri() const { return uri_; }

  /// Returns the number of messages received so far.
  [[nodiscard]] std::size_t messages() const;

  /// Returns the number of connections that have sent a message so far.
  [[nodiscard]] std::size_t connections() const;

 private:
  class Running;

  const FramesHandler handler_;
  const std::size_t workers_;
  std::string uri_ = "tcp://127.0.0.1:*";
  std::unique_ptr<Running> running_;
  std::size_t messages_before_ = 0;
  std::size_t connections_before_ = 0;
};

}  // namespace rest_fcgi::test
