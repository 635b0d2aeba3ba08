// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A master's `ret_port` on loopback: a ROUTER and workers, each with one message at a time. Unlike a
/// master's, a worker that is busy is given nothing. The handler runs in the workers' threads; `stop` and the
/// destructor wait for it. Not synchronized.
class FakeRetPort {
 public:
  /// The body of a request, and its answer; none: there will be no answer.
  using Handler = std::function<std::optional<std::string>(std::string)>;
  using Frames = std::vector<std::string>;
  /// All frames that a connection sent and that it is sent; none: there will be no answer.
  using FramesHandler = std::function<Frames(Frames)>;

  /// Starts at a free port.
  explicit FakeRetPort(Handler handler, std::size_t workers = 1);
  explicit FakeRetPort(FramesHandler handler, std::size_t workers = 1);
  ~FakeRetPort();
  FakeRetPort(const FakeRetPort&) = delete;
  FakeRetPort& operator=(const FakeRetPort&) = delete;

  /// Goes on at the same port.
  void start();

  /// Breaks all connections and closes the port.
  void stop();

  /// Where it listens, or did: `tcp://127.0.0.1:PORT`.
  [[nodiscard]] std::string uri() const { return uri_; }

  /// How many messages came until now.
  [[nodiscard]] std::size_t messages() const;

  /// On how many connections.
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
