// SPDX-License-Identifier: MIT
#include "gateway/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// The pause after a failed accept(2), or while the number of connections is at its limit.
constexpr std::chrono::milliseconds kPause{10};

}  // namespace

Acceptor::Acceptor(asio::io_context& context, ListeningSocket socket, std::string name, Handlers handlers)
    : name_(std::move(name)),
      handlers_(std::move(handlers)),
      listening_(std::move(socket)),
      descriptor_(context.get_executor(), listening_.fd.release()),
      pause_timer_(context.get_executor()) {}

void Acceptor::start() {
  const MutexLock lock(mutex_);
  wait();
}

void Acceptor::keep(const std::function<bool(int)>& keep) {
  const MutexLock lock(mutex_);
  if (!listening_.file && keep(descriptor_.native_handle())) listening_.is_shared = true;
}

void Acceptor::wait() {
  descriptor_.async_wait(asio::posix::descriptor_base::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (!error) accept_next();
                         });
}

void Acceptor::accept_next() {
  const MutexLock lock(mutex_);
  if (is_stopping_) return;
  const std::size_t room = std::min(handlers_.make_room(), kMostAtOnce);
  for (std::size_t i = 0; i < room; ++i) {
    Connection connection = accept();
    if (!connection.socket) break;
    begin(std::move(connection));
  }
  if (room != 0 && !is_accept_failing_) return wait();
  pause_timer_.expires_after(kPause);
  pause_timer_.async_wait([this](const boost::system::error_code&) {
    const MutexLock locked(mutex_);
    if (!is_stopping_) wait();
  });
}

/// Accepts a connection. If accept(2) fails, the result has no socket.
Acceptor::Connection Acceptor::accept() {
  Connection made;
  const auto try_accept = [&]() REQUIRES(mutex_) {
    socklen_t size = sizeof made.peer;
    made.socket.reset(
        ::accept4(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&made.peer), &size, SOCK_CLOEXEC));
    return made.socket ? 0 : errno;
  };
  int error = try_accept();
  if (error == EMFILE || error == ENFILE) {
    handlers_.free_descriptor();
    error = try_accept();  // at once, before another port takes the descriptor
  }
  const bool is_failure = error != 0 && error != EAGAIN && error != EINTR && error != ECONNABORTED;
  if (is_failure && !is_accept_failing_) {
    log::error(format("{}: cannot accept a connection, trying again: {}", name_, errno_text(error)));
  }
  is_accept_failing_ = is_failure;
  return made;
}

void Acceptor::begin(Connection connection) noexcept {
  if (!connection.socket) return;
  try {
    handlers_.begin(std::move(connection.socket), connection.peer);
  } catch (...) {
    log_exception("a connection was dropped after an exception");
  }
}

void Acceptor::stop() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_stopping_, true)) return;
  // For a unix socket, shutdown(2) refuses new connections and keeps the waiting connections. A TCP socket
  // gets no shutdown(2), because shutdown(2) would reset its waiting connections.
  if (listening_.file) ::shutdown(descriptor_.native_handle(), SHUT_RD);
  while (!listening_.is_shared) {
    Connection connection = accept();
    if (!connection.socket) break;
    begin(std::move(connection));
  }
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  pause_timer_.cancel();
  listening_.file.reset();
}

}  // namespace rest_fcgi::gateway
