// SPDX-License-Identifier: MIT
#include "gateway/acceptor.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// The pause where there is no room for a connection, and after a failure.
constexpr std::chrono::milliseconds kPause{10};

}  // namespace

Acceptor::Acceptor(asio::io_context& context, ListeningSocket socket, std::string name, Handlers handlers)
    : name_(std::move(name)),
      handlers_(std::move(handlers)),
      listening_(std::move(socket)),
      descriptor_(context.get_executor(), listening_.fd.release()),
      pause_timer_(context.get_executor()) {}

void Acceptor::start() {
  const std::lock_guard lock(mutex_);
  wait();
}

/// REQUIRES: mutex_ is held.
void Acceptor::wait() {
  descriptor_.async_wait(asio::posix::descriptor_base::wait_read,
                         [this](const boost::system::error_code& error) {
                           const std::lock_guard lock(mutex_);
                           if (error || is_stopping_) return;
                           if (handlers_.has_room() && accept_one()) return wait();
                           pause_timer_.expires_after(kPause);
                           pause_timer_.async_wait([this](const boost::system::error_code&) {
                             const std::lock_guard locked(mutex_);
                             if (!is_stopping_) wait();
                           });
                         });
}

/// Returns false where no connection waits, or one cannot be accepted now. REQUIRES: mutex_ is held.
bool Acceptor::accept_one() {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  UniqueFd connection(
      ::accept4(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC));
  if (!connection) {
    log_failure(errno);
    return false;
  }
  is_accept_failing_ = false;
  try {
    handlers_.begin(std::move(connection), address);
  } catch (...) {
    log_exception("a connection was dropped");
  }
  return true;
}

void Acceptor::log_failure(int error) {
  const bool is_passing = error == EAGAIN || error == EINTR || error == ECONNABORTED;
  if (is_passing || std::exchange(is_accept_failing_, true)) return;
  log::error(format("{}: cannot accept a connection, trying again: {}", name_, errno_text(error)));
}

void Acceptor::stop() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_stopping_, true)) return;
  // Refuses on a unix socket who comes from now on, and keeps who waits. On TCP it would reset those.
  if (listening_.file) ::shutdown(descriptor_.native_handle(), SHUT_RD);
  while (!listening_.is_shared && accept_one()) {
  }
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  pause_timer_.cancel();
  listening_.file.reset();
}

}  // namespace rest_fcgi::gateway
