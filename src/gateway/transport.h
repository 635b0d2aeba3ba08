// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "gateway/asio.h"
#include "gateway/sys.h"

namespace rest_fcgi::gateway {

/// One connection, through TLS or as it is: an AsyncStream of Asio. Owns the socket. Used by one thread at a
/// time.
class Transport {
 public:
  using executor_type = Executor;

  /// Without TLS where `tls` is nullptr. The context has to outlive the transport.
  Transport(Socket socket, asio::ssl::context* tls) : socket_(std::make_unique<Socket>(std::move(socket))) {
    if (tls != nullptr) tls_ = std::make_unique<Tls>(*socket_, *tls);
  }

  [[nodiscard]] executor_type get_executor() noexcept { return socket_->get_executor(); }
  [[nodiscard]] Socket& socket() noexcept { return *socket_; }

  /// Returns the state of TLS; nullptr without TLS.
  [[nodiscard]] SSL* tls() noexcept { return tls_ ? tls_->native_handle() : nullptr; }

  template <class Buffers, class Token>
  ByteCount<Token> async_read_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                : socket_->async_read_some(buffers, std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  ByteCount<Token> async_write_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                : socket_->async_write_some(buffers, std::forward<Token>(token));
  }

  /// Begins TLS. REQUIRES: there is TLS.
  template <class Token>
  auto async_handshake(Token&& token) {
    return tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Token>(token));
  }

  /// Goes on without TLS, for a peer that did not begin it.
  void drop_tls() noexcept { tls_.reset(); }

  /// Tells the peer that nothing more comes. With TLS it waits for the same from the peer.
  Task<> finish() {
    boost::system::error_code ignored;
    if (tls_) co_await tls_->async_shutdown(use_task_with(ignored));
    socket_->shutdown(Socket::shutdown_send, ignored);
  }

  /// Has `context` wait for the socket from now on. REQUIRES: nothing waits for it.
  void move_to(asio::io_context& context) {
    const auto protocol = socket_->local_endpoint().protocol();
    *socket_ = Socket(context, asio::generic::stream_protocol(protocol.family(), protocol.protocol()),
                      socket_->release());
  }

 private:
  using Tls = boost::beast::ssl_stream<Socket&>;

  std::unique_ptr<Socket> socket_;  // stays where it is: tls_ refers to it
  std::unique_ptr<Tls> tls_;
};

}  // namespace rest_fcgi::gateway
