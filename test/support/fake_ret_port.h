// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A master's `ret_port` on loopback: a ROUTER and workers with one message at a time each. Unlike a master,
/// it gives no message to a busy worker. The handler runs in the worker threads; `stop` and the destructor
/// wait for it. Not synchronized.
class FakeRetPort {
 public:
  /// Takes the body of a request and returns the answer; nullopt sends none.
  using Handler = std::function<std::optional<std::string>(std::string)>;
  using Frames = std::vector<std::string>;
  /// Takes all frames of a message and returns all frames of the answer; nullopt sends none.
  using FramesHandler = std::function<Frames(Frames)>;

  /// Starts at a free port.
  explicit FakeRetPort(Handler handler, std::size_t workers = 1);
  explicit FakeRetPort(FramesHandler handler, std::size_t workers = 1);
  ~FakeRetPort();
  FakeRetPort(const FakeRetPort&) = delete;
  FakeRetPort& operator=(const FakeRetPort&) = delete;

  /// Listens again at the same port.
  void start();

  /// Breaks all connections and closes the port.
  void stop();

  /// The address, also after `stop`: `tcp://127.0.0.1:PORT`.
  [[nodiscard]] std::string uri() const { return uri_; }

  /// The number of messages so far.
  [[nodiscard]] std::size_t messages() const;

  /// The number of connections so far.
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
