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

/// Accepts the connections of one listening socket. Runs on the threads of `context`; `start` and `stop` may
/// be called by another thread.
class Acceptor {
 public:
  /// What has to happen with connections. `begin` is called by many threads, `has_room` by one at a time.
  struct Handlers {
    /// May one more be accepted now? Else it is asked again a moment later.
    std::function<bool()> has_room;
    std::function<void(UniqueFd, const sockaddr_storage&)> begin;
  };

  /// `name` is for the log. REQUIRES: `socket` has a descriptor; `context` outlives the acceptor.
  Acceptor(asio::io_context& context, ListeningSocket socket, std::string name, Handlers handlers);

  void start();

  /// Accepts no more, and closes the socket. Connections that wait on a socket of our own are accepted first;
  /// those on a shared one are left to the other processes.
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

  std::mutex mutex_;  // guards what follows
  ListeningSocket listening_;
  asio::posix::basic_stream_descriptor<Executor> descriptor_;
  Timer pause_timer_;
  bool is_accept_failing_ = false;
  bool is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
