// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// Stands for a master's `ret_port`, on loopback, with a ZeroMQ ROUTER socket and worker threads. Each worker
/// thread calls the handler for one message at a time. Not synchronized.
class FakeRetPort {
 public:
  /// A function that gets the body of a request and returns the body of the answer. For std::nullopt, the
  /// port sends no answer.
  using Handler = std::function<std::optional<std::string>(std::string)>;
  using Frames = std::vector<std::string>;
  /// A function that gets all frames of a message and returns all frames of the answer. Without frames, the
  /// port sends no answer.
  using FramesHandler = std::function<Frames(Frames)>;

  explicit FakeRetPort(Handler handler, std::size_t workers = 1);
  explicit FakeRetPort(FramesHandler handler, std::size_t workers = 1);
  ~FakeRetPort();
  FakeRetPort(const FakeRetPort&) = delete;
  FakeRetPort& operator=(const FakeRetPort&) = delete;

  void start();

  void stop();

  /// Returns the address `tcp://127.0.0.1:PORT`, which stays the same after `stop`.
  [[nodiscard]] std::string uri() const { return uri_; }

  /// Returns the number of messages since the first start.
  [[nodiscard]] std::size_t messages() const { return messages_; }

  /// Returns the number of connections that have sent a message since the first start.
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  class Running;

  const FramesHandler handler_;
  const std::size_t workers_;
  std::string uri_ = "tcp://127.0.0.1:*";
  std::atomic<std::size_t> messages_ = 0;
  std::atomic<std::size_t> connections_ = 0;
  std::unique_ptr<Running> running_;
};

}  // namespace rest_fcgi::test
