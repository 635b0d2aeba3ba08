// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "gateway/connections.h"
#include "gateway/http/request_parser.h"
#include "gateway/http/response_writer.h"
#include "gateway/shared.h"
#include "gateway/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/gateway/options.h"
#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::gateway {

/// A listening HTTP port. Thread-safe.
struct HttpPort {
  HttpPort(HttpOptions its_options, std::size_t its_index, std::unique_ptr<boost::asio::ssl::context> its_tls,
           http::Addresses its_proxies)
      : options(std::move(its_options)),
        body_too_large(format("Request body is larger than {} ({} bytes)", options.body_limit_key,
                              options.max_request_body_size)),
        index(its_index),
        tls(std::move(its_tls)),
        proxies(std::move(its_proxies)) {}

  HttpOptions options;
  std::string body_too_large;  ///< The sentence of the reply 413.
  std::size_t index;
  std::unique_ptr<boost::asio::ssl::context> tls;  ///< The TLS settings. Null for a port without TLS.
  http::Addresses proxies;
  mutable std::atomic<SteadyTime> next_proxy_warning = SteadyTime::min();
  mutable std::atomic<SteadyTime> next_tls_warning = SteadyTime::min();
};

struct Peer {
  std::string address;
  std::string port;
};

/// Serves the requests of one HTTP connection in order. Owns the socket. Used by one thread at a time.
class HttpConnection {
 public:
  /// Takes ownership of the socket. REQUIRES: `shared` outlives the connection.
  HttpConnection(Shared& shared, std::shared_ptr<const HttpPort> port, Socket socket, Peer peer);

  Task<> run();

 private:
  Task<bool> shake_hands();
  Task<> serve();
  Task<bool> read_begin(bool is_first);
  Task<std::optional<Refusal>> read_request(RequestParser& parser);
  Task<boost::system::error_code> read_body(RequestParser& parser);
  Task<bool> answer(std::optional<RequestParser>& parser);
  Task<> refuse(Refusal refusal);
  void upgrade(http::Response response, const http::Environ& environ);
  Task<> linger();

  [[nodiscard]] bool has_allowed_name();
  void log_refused_certificate(const boost::system::error_code& error);
  void add_variables(http::Environ& environ) const;
  [[nodiscard]] std::optional<http::Response> answer_at_once(const http::Environ& environ) const;
  [[nodiscard]] http::Response call_application(const http::Environ& environ);
  [[nodiscard]] std::string find_client(const http::Environ& environ) const;
  void warn_of_peer(std::atomic<SteadyTime>& next, std::string_view text) const;

  Shared& shared_;
  const std::shared_ptr<const HttpPort> port_;
  const Peer peer_;
  Transport transport_;
  Connections::Entry entry_;
  ResponseWriter writer_;
  boost::beast::flat_buffer buffer_;
  bool is_allowed_ = true;  ///< Whether `ssl_allowed_cn` is empty or contains the client's common name.
};

}  // namespace rest_fcgi::gateway
