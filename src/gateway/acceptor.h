// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <functional>
#include <mutex>
#include <string>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "gateway/asio.h"
#include "gateway/listening_socket.h"
#include "gateway/sys.h"

namespace rest_fcgi::gateway {

/// Accepts the connections of one listening socket. Runs on the threads of `context`. Another thread may call
/// `start` and `stop`.
class Acceptor {
 public:
  /// Callbacks of the owner. Several threads may call `begin` at the same time. Only one thread at a time
  /// calls `has_room`.
  struct Handlers {
    /// Returns whether one more connection may be accepted now. If not, the acceptor asks again after a short
    /// pause.
    std::function<bool()> has_room;
    std::function<void(UniqueFd, const sockaddr_storage&)> begin;
  };

  /// Log lines contain `name`. REQUIRES: `socket` has a descriptor; `context` outlives the acceptor.
  Acceptor(asio::io_context& context, ListeningSocket socket, std::string name, Handlers handlers);

  void start();

  /// Stops accepting and closes the socket. If the socket is not shared, waiting connections are accepted
  /// first. On a shared socket, waiting connections stay for the other processes.
  void stop();

 private:
  void wait();
  struct Connection {
    UniqueFd socket;
    sockaddr_storage peer{};
  };
  void accept_next();
  Connection accept();
  void begin(Connection connection) noexcept;

  const std::string name_;
  const Handlers handlers_;

  std::mutex mutex_;  // guards the members below
  ListeningSocket listening_;
  asio::posix::basic_stream_descriptor<Executor> descriptor_;
  Timer pause_timer_;
  bool is_accept_failing_ = false;
  bool is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
