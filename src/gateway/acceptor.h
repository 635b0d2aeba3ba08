// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <string>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "gateway/asio.h"
#include "gateway/listening_socket.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/mutex.h"

namespace rest_fcgi::gateway {

/// Accepts the connections of one listening socket. `start` and `stop` may be called by any thread.
class Acceptor {
 public:
  /// The callbacks of the server. Only one thread at a time calls them.
  struct Handlers {
    /// Returns the number of connections that the acceptor may accept. If it is 0, the acceptor asks again
    /// after a pause.
    std::function<std::size_t()> make_room;
    /// Frees a descriptor, if accept(2) failed because the process or the system has no free descriptor.
    std::function<void()> free_descriptor;
    /// Begins to serve a connection. Does not wait.
    std::function<void(UniqueFd, const sockaddr_storage&)> begin;
  };

  /// The largest number of connections that are accepted for one event. With only one, new connections would
  /// wait longer than the requests on open connections.
  static constexpr std::size_t kMostAtOnce = 64;

  /// `name` is shown in log lines. REQUIRES: `socket` has a descriptor; `context` outlives the acceptor.
  Acceptor(asio::io_context& context, ListeningSocket socket, std::string name, Handlers handlers);

  void start();

  /// Calls `keep` with the descriptor of a TCP socket. If the result is true, another process shares the
  /// socket from now on.
  void keep(const std::function<bool(int)>& keep);

  /// Closes the socket. If no other process shares the socket, first accepts all waiting connections.
  void stop();

 private:
  void wait() REQUIRES(mutex_);
  struct Connection {
    UniqueFd socket;
    sockaddr_storage peer{};
  };
  void accept_next();
  Connection accept() REQUIRES(mutex_);
  void begin(Connection connection) noexcept;

  const std::string name_;
  const Handlers handlers_;

  Mutex mutex_;
  ListeningSocket listening_ GUARDED_BY(mutex_);
  asio::posix::basic_stream_descriptor<Executor> descriptor_ GUARDED_BY(mutex_);
  Timer pause_timer_ GUARDED_BY(mutex_);
  bool is_accept_failing_ GUARDED_BY(mutex_) = false;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace rest_fcgi::gateway
