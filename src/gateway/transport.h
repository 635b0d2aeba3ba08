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

/// One connection, with or without TLS (Asio's AsyncStream). Owns the socket. Used by one thread at a time.
class Transport {
 public:
  using executor_type = Executor;

  /// Makes a connection. The connection uses TLS unless `tls` is null. `tls` must outlive the transport.
  Transport(Socket socket, asio::ssl::context* tls) : socket_(std::make_unique<Socket>(std::move(socket))) {
    socket_->non_blocking(true);
    if (tls != nullptr) tls_ = std::make_unique<Tls>(*socket_, *tls);
  }

  [[nodiscard]] executor_type get_executor() noexcept { return socket_->get_executor(); }
  /// Returns the socket. Its synchronous operations do not block.
  [[nodiscard]] Socket& socket() noexcept { return *socket_; }

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

  /// Does the TLS handshake. REQUIRES: the transport uses TLS.
  template <class Token>
  auto async_handshake(Token&& token) {
    return tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Token>(token));
  }

  /// Continues without TLS, to answer a peer that has sent plain HTTP or to read bytes after the end of TLS.
  void drop_tls() noexcept { tls_.reset(); }

  /// Ends sending. With TLS, waits until the peer has ended its side of TLS.
  Task<> finish();

  /// Moves the socket to `context`. REQUIRES: no operation is pending on the socket.
  void move_to(asio::io_context& context) {
    const auto protocol = socket_->local_endpoint().protocol();
    *socket_ = Socket(context, asio::generic::stream_protocol(protocol.family(), protocol.protocol()),
                      socket_->release());
    socket_->non_blocking(true);
  }

 private:
  using Tls = boost::beast::ssl_stream<Socket&>;

  std::unique_ptr<Socket> socket_;  // `tls_` refers to the socket, so the socket must not move.
  std::unique_ptr<Tls> tls_;
};

}  // namespace rest_fcgi::gateway
