// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/stream_fwd.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include "gateway/transport.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// The connection of an event stream. On a WebSocket, Beast writes the control frames, and the listener
/// writes the messages. Each write therefore waits for the end of the previous write. Used by the thread of
/// the streams.
class Link {
 public:
  using executor_type = Executor;

  explicit Link(Transport transport)
      : transport_(std::move(transport)), freed_(transport_.get_executor(), Timer::time_point::max()) {}

  [[nodiscard]] executor_type get_executor() noexcept { return transport_.get_executor(); }
  [[nodiscard]] Transport& transport() noexcept { return transport_; }

  /// The link calls this function when Beast begins to end the connection.
  std::function<void()> on_teardown;

  /// The Listener that has this link. A pending write may outlast the listener's coroutines, so the write
  /// keeps the listener alive.
  std::weak_ptr<void> owner;

  /// The state of a pending write.
  struct Progress {
    SteadyTime began_at;
    /// The time at which the write last sent bytes. At first, the time at which the write began.
    SteadyTime moved_at;
    std::size_t bytes = 0;
  };
  [[nodiscard]] const std::optional<Progress>& writing() const noexcept { return writing_; }

  [[nodiscard]] SteadyTime written_at() const noexcept { return written_at_; }

  /// Waits for the end of a pending write, and then writes all of `buffers`.
  template <class Buffers>
  Task<> write(Buffers buffers) {
    co_await wait_until_free();
    const SteadyTime now = written_at_ = system_clock().steady();
    boost::system::error_code error;
    boost::beast::buffers_suffix<Buffers> rest(buffers);
    // For a small text, a direct send needs less CPU than an asynchronous write. For a large text, the
    // asynchronous write lets other streams run in the meantime.
    constexpr std::size_t kSmall = 16384;
    if (transport_.tls() == nullptr && asio::buffer_size(buffers) <= kSmall) {
      rest.consume(transport_.socket().write_some(buffers, error));
      if (asio::buffer_size(rest) == 0) co_return;
    }
    writing_ = Progress{now, now};
    const auto more = [this](const boost::system::error_code& failure, std::size_t written) -> std::size_t {
      if (written != writing_->bytes) *writing_ = {writing_->began_at, system_clock().steady(), written};
      constexpr std::size_t kAtOnce = 65536;
      return failure ? 0 : kAtOnce;
    };
    co_await asio::async_write(transport_, rest, more, use_task_with(error));
    writing_.reset();
    written_at_ = system_clock().steady();
    freed_.cancel();  // Resumes all waiting coroutines, because one that writes at once resumes no other.
    if (error) throw boost::system::system_error(error);
  }

  Task<> wait_until_free() {
    boost::system::error_code ignored;
    while (writing_) co_await freed_.async_wait(use_task_with(ignored));
  }

  void close() noexcept {
    boost::system::error_code ignored;
    transport_.socket().close(ignored);
  }

  template <class Buffers, class Token>
  ByteCount<Token> async_read_some(const Buffers& buffers, Token&& token) {
    return transport_.async_read_some(buffers, std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  ByteCount<Token> async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& bytes) {
          asio::co_spawn(
              get_executor(),
              [](Link& link, std::shared_ptr<void> /*kept*/, Buffers all) -> Task<> {
                co_await link.write(all);
              }(*this, owner.lock(), bytes),
              [handler = std::move(handler),
               size = asio::buffer_size(bytes)](const std::exception_ptr& failure) mutable {
                const boost::system::error_code broken = asio::error::broken_pipe;
                handler(failure ? broken : boost::system::error_code(), failure ? 0 : size);
              });
        },
        token, buffers);
  }

 private:
  Transport transport_;
  Timer freed_;
  std::optional<Progress> writing_;
  SteadyTime written_at_ = system_clock().steady();
};

/// Beast calls this function after the closing handshake of a WebSocket, or after a protocol violation.
template <class Handler>
void async_teardown(boost::beast::role_type /*role*/, Link& link, Handler&& handler) {
  if (link.on_teardown) link.on_teardown();
  const auto finish = [](Link& ended, std::shared_ptr<void> /*kept*/) -> Task<> {
    co_await ended.transport().finish();
  };
  asio::co_spawn(link.get_executor(), finish(link, link.owner.lock()),
                 [handler = std::forward<Handler>(handler)](const std::exception_ptr& /*failure*/) mutable {
                   handler(boost::system::error_code());
                 });
}

/// Beast calls this function when a WebSocket's peer is silent for too long.
inline void beast_close_socket(Link& link) {
  link.close();
}

}  // namespace rest_fcgi::gateway
